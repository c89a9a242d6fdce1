package inventory

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A walkingIndex answers the questions of an Index by walking over all nodes. It
// is the Index of the first days, and the oracle of the one that there is now.
type walkingIndex struct {
	options Options
	nodes   map[string]*walkedNode
	orphans map[string]*v1alpha1.NodeRuntime
}

func newWalkingIndex(options Options) *walkingIndex {
	return &walkingIndex{options: options, nodes: map[string]*walkedNode{}, orphans: map[string]*v1alpha1.NodeRuntime{}}
}

// A walkedCoverage is a Coverage in the making.
type walkedCoverage struct{ Coverage }

func add(n *Nodes, name string) {
	n.Count++
	n.name(name)
}

// SetNode adds a Node or replaces what is known of it. The index keeps the
// parts that StripNode keeps; they must not be changed afterwards.
func (x *walkingIndex) SetNode(object *corev1.Node) {
	object = StripNode(object)
	n := x.nodes[object.Name]
	if n == nil {
		n = &walkedNode{}
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
func (x *walkingIndex) DeleteNode(name string) {
	delete(x.nodes, name)
	delete(x.orphans, name)
}

// SetReport adds the NodeRuntime of a node or replaces it. It may come before
// its Node.
func (x *walkingIndex) SetReport(report *v1alpha1.NodeRuntime) {
	if n, ok := x.nodes[report.Name]; ok {
		n.setReport(report)
		return
	}
	x.orphans[report.Name] = report
}

// DeleteReport removes the NodeRuntime of a node.
func (x *walkingIndex) DeleteReport(name string) {
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
func (x *walkingIndex) Coverage(p *walkedPlacement, handler string, needs Features, now time.Time) Coverage {
	var c walkedCoverage
	for _, feature := range needs.Each() {
		c.Features = append(c.Features, FeatureCoverage{Feature: feature})
	}
	for name, n := range x.nodes {
		v := n.at(now, &x.options)
		known := v.knowledge(handler)
		obstacle, taint := p.obstacle(n.object)
		if obstacle == none || obstacle == notListed && known != Lacks {
			add(c.nodes(known), name)
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
			add(&c.Elsewhere, name)
			if obstacle == tooSmall && p.fitsBare(n.object.Status.Allocatable) {
				add(&c.Crowded, name)
			}
		}
		switch obstacle {
		case notTolerated:
			c.addTainted(name, known, taint)
			if n.isYoung(now, &x.options) {
				add(&c.Settling, name)
			}
		case tooSmall, notListed:
			add(&c.TooSmall, name)
		}
	}
	return c.Coverage
}

// addReported notes what the reporter of a node says of a handler that the node
// has.
func (x *walkingIndex) addReported(c *walkedCoverage, n *walkedNode, handler string, now time.Time) {
	if !n.isFresh(now, &x.options) {
		return
	}
	name := handler
	if name == "" {
		name = n.standard
		c.Standards = insert(c.Standards, name)
	}
	if faults := n.broken[name]; faults != 0 {
		add(&c.Broken, n.object.Name)
		c.Faults |= faults
	}
	if n.breaking[name] {
		add(&c.Breaking, n.object.Name)
	}
	if n.expiring[name] {
		add(&c.Expiring, n.object.Name)
	}
}

// Loaded returns the names of all handlers known to be loaded on any node at
// the time now, sorted.
func (x *walkingIndex) Loaded(now time.Time) (all []string) {
	for _, n := range x.nodes {
		loaded, _ := n.handlers(now, &x.options)
		for _, name := range loaded {
			all = insert(all, name)
		}
	}
	return all
}

// Summary counts the nodes at the time now: by what the knowledge of them rests
// on, by the state of each of the handlers ("" is the default one), and by
// findings.
func (x *walkingIndex) Summary(handlers []string, now time.Time) Summary {
	s := Summary{Nodes: map[Freshness]int{}, Handlers: map[string]map[HandlerState]int{}, Findings: map[FindingKind]int{}}
	states := make([]map[HandlerState]int, len(handlers))
	for i, handler := range handlers {
		states[i] = map[HandlerState]int{}
		s.Handlers[handler] = states[i]
	}
	for _, n := range x.nodes {
		v := n.at(now, &x.options)
		s.Nodes[v.freshness()]++
		for i, handler := range handlers {
			states[i][v.state(handler)]++
		}
		if n.isCurrent(now, &x.options) {
			for _, kind := range n.findings {
				s.Findings[kind]++
			}
		}
	}
	return s
}

// freshness says what the knowledge of the node rests on. What an earlier node of
// that name reported is no fault of a new one.
func (v *walkedView) freshness() Freshness {
	switch {
	case v.fresh:
		return Fresh
	case len(v.reported) > 0 && !v.young:
		return Stale
	case len(v.listed) > 0:
		return Kubelet
	case v.young:
		return Young
	}
	return Silent
}

// state says what is known about one handler on the node; "" is the default one.
func (v *walkedView) state(handler string) HandlerState {
	name := handler
	if name == "" {
		name = v.standard
	}
	switch known := v.knowledge(handler); {
	case known == Has && v.fresh && v.broken[name] != 0:
		return Broken
	case known == Has && v.fresh && v.expiring[name]:
		return Expiring
	case known == Has:
		return Loaded
	case v.fresh && v.lost[name]:
		return Lost
	case known == Lacks:
		return Lacking
	}
	return Unknown
}

func (c *walkedCoverage) nodes(k Knowledge) *Nodes {
	switch k {
	case Has:
		return &c.Has
	case Lacks:
		return &c.Lacks
	case UnknownStale:
		return &c.Stale
	case UnknownYoung:
		return &c.Young
	case UnknownDown:
		return &c.Down
	}
	return &c.Silent
}

// addTainted notes a node that only a taint keeps out. Of one that lacks the
// handler nothing is noted: a toleration would not help.
func (c *walkedCoverage) addTainted(name string, known Knowledge, taint corev1.Taint) {
	switch known {
	case Lacks:
		return
	case Has:
		add(&c.Tainted, name)
	default:
		add(&c.MaybeTainted, name)
	}
	switch first := c.Taint.ToString(); {
	case c.Taint.Key == "":
		c.Taint = taint
	case taint.ToString() != first:
		c.SeveralTaints = true
		if taint.ToString() < first {
			c.Taint = taint
		}
	}
}

// addServing notes what a node that has the handler tells of it.
func (c *walkedCoverage) addServing(name string, told offers) {
	for i := range c.Features {
		f := &c.Features[i]
		switch {
		case told.given&f.Feature != 0:
			add(&f.Has, name)
		case told.told&f.Feature != 0:
			add(&f.Lacks, name)
		default:
			add(&f.Unknown, name)
		}
	}
}
