package inventory

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// Options say how long what is known about a node counts.
type Options struct {
	// StaleAfter is the age of NodeRuntime.spec.renewedAt above which the
	// object counts as unknown.
	StaleAfter time.Duration
	// NodeSettle is the age of a node below which a handler that it lacks counts
	// as unknown: installers may still be at work on it.
	NodeSettle time.Duration
}

// DefaultOptions fit reporters with a heartbeat of 5 minutes, and installers
// such as the GPU operator and kata-deploy.
var DefaultOptions = Options{StaleAfter: 15 * time.Minute, NodeSettle: 10 * time.Minute}

// An Index answers questions about the nodes of a cluster and the handlers
// they have loaded. It is safe for concurrent use.
type Index struct {
	options Options

	mu      sync.RWMutex
	nodes   map[string]*node
	orphans map[string]*v1alpha1.NodeRuntime // reports without a Node (yet)
}

// NewIndex returns an Index of no nodes.
func NewIndex(options Options) *Index {
	return &Index{options: options, nodes: map[string]*node{}, orphans: map[string]*v1alpha1.NodeRuntime{}}
}

// SetNode adds a Node or replaces what is known of it. The index keeps the
// parts that StripNode keeps; they must not be changed afterwards.
func (x *Index) SetNode(object *corev1.Node) {
	object = StripNode(object)
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.nodes[object.Name]
	if n == nil {
		n = &node{}
		if report, ok := x.orphans[object.Name]; ok {
			n.setReport(report)
			delete(x.orphans, object.Name)
		}
		x.nodes[object.Name] = n
	}
	n.setObject(object)
}

// DeleteNode removes a Node, and what was reported of it: a node that comes
// back under the same name is another one.
func (x *Index) DeleteNode(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.nodes, name)
	delete(x.orphans, name)
}

// SetReport adds the NodeRuntime of a node or replaces it. It may come before
// its Node.
func (x *Index) SetReport(report *v1alpha1.NodeRuntime) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n, ok := x.nodes[report.Name]; ok {
		n.setReport(report)
		return
	}
	x.orphans[report.Name] = report
}

// DeleteReport removes the NodeRuntime of a node.
func (x *Index) DeleteReport(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.orphans, name)
	if n, ok := x.nodes[name]; ok {
		n.setReport(nil)
	}
}

// Coverage says, of the nodes that a Pod of that Placement may land on, which
// have the handler loaded at the time now ("" is the default handler), and what
// they tell of the features that the Pod needs. A node that lacks the handler and of
// which it is not sure that the Pod may land there (notListed) is none of them:
// it must not be the reason to deny the Pod.
func (x *Index) Coverage(p *Placement, handler string, needs Features, now time.Time) Coverage {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var c Coverage
	for _, feature := range needs.Each() {
		c.Features = append(c.Features, FeatureCoverage{Feature: feature})
	}
	for name, n := range x.nodes {
		v := n.at(now, &x.options)
		known := v.knowledge(handler)
		obstacle, taint := p.obstacle(n.object)
		if obstacle == none || obstacle == notListed && known != Lacks {
			c.nodes(known).add(name)
			if known == Has {
				c.addServing(name, n.offers(handler, now, &x.options))
				x.addReported(&c, n, handler, now)
			}
			for _, name := range v.loaded {
				c.Loaded = insert(c.Loaded, name)
			}
			continue
		}
		if known == Has {
			c.Elsewhere.add(name)
			if obstacle == tooSmall && p.fitsBare(n.object.Status.Allocatable) {
				c.Crowded.add(name)
			}
		}
		switch obstacle {
		case notTolerated:
			c.addTainted(name, known, taint)
			if n.isYoung(now, &x.options) {
				c.Settling.add(name)
			}
		case tooSmall, notListed:
			c.TooSmall.add(name)
		}
	}
	return c
}

// addReported notes what the reporter of a node says of a handler that the node
// has.
func (x *Index) addReported(c *Coverage, n *node, handler string, now time.Time) {
	if !n.isFresh(now, &x.options) {
		return
	}
	name := handler
	if name == "" {
		name = n.standard
		c.Standards = insert(c.Standards, name)
	}
	if n.broken[name] {
		c.Broken.add(n.object.Name)
	}
	if n.expiring[name] {
		c.Expiring.add(n.object.Name)
	}
}

// Loaded returns the names of all handlers known to be loaded on any node at
// the time now, sorted.
func (x *Index) Loaded(now time.Time) (all []string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, n := range x.nodes {
		loaded, _ := n.handlers(now, &x.options)
		for _, name := range loaded {
			all = insert(all, name)
		}
	}
	return all
}

// NodeCount returns the number of nodes.
func (x *Index) NodeCount() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.nodes)
}
