package inventory

import (
	"sync"
	"sync/atomic"
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
//
// Questions are answered by a snapshot. Unless Feed keeps it up to date, a
// question that comes after a change makes a new one first, so that it sees the
// change.
type Index struct {
	options Options
	limits  namingLimits

	// current answers questions; it is never nil.
	current atomic.Pointer[snapshot]
	// pending is when the first change came that is not in it, in nanoseconds
	// since made; 0 for none.
	pending atomic.Int64
	made    time.Time
	// followed: Feed makes the snapshots. wake tells it of a change.
	followed atomic.Bool
	wake     chan struct{}

	mu      sync.Mutex // for all below
	nodes   map[string]*node
	orphans map[string]orphan // reports without a Node (yet)

	// What nodes have in common, and the groups that follow from it.
	labels   pool[labelSet]
	taints   pool[taintList]
	rooms    pool[room]
	listings pool[listing]
	reports  pool[reported]
	views    map[viewKey]*view
	kinds    map[kindKey]*kind
	groups   map[groupKey]*group

	// naming are the naming keys, and findNamingAt the number of labelSets at which
	// they are looked for.
	naming       map[string]bool
	findNamingAt int
	postings     map[string]postings

	slots pages[place]
	// byName are the slots in use in the order of names, freeSlots the others.
	byName    sorted[int32]
	freeSlots []int32
	// ranked are the groups in the order of their first nodes' names. numbers is how
	// many have been in use for groups, freeNumbers those that are not.
	ranked      []*group
	numbers     int32
	freeNumbers []int32

	// What has changed since the last snapshot.
	touched       []*node
	renamed       []renaming
	labelsChanged bool
	// renames are those since keys that are no longer naming were looked for.
	renames int

	// from is the time from which the groups are right, and deadlines say until
	// when.
	from      time.Time
	deadlines deadlines

	// Memory that is used again.
	signature signature
	keys      []string
	amounts   room
	handlers  []corev1.NodeRuntimeHandler
}

// An orphan is a report without a Node.
type orphan struct {
	report  *pooled[reported]
	renewed time.Time
}

// NewIndex returns an Index of no nodes.
func NewIndex(options Options) *Index {
	x := &Index{
		options: options, limits: namingLimits{namingValues, namingNodes}, findNamingAt: namingValues,
		made: time.Now(), wake: make(chan struct{}, 1),
		nodes: map[string]*node{}, orphans: map[string]orphan{},
		labels: pool[labelSet]{}, taints: pool[taintList]{}, rooms: pool[room]{}, listings: pool[listing]{}, reports: pool[reported]{},
		views: map[viewKey]*view{}, kinds: map[kindKey]*kind{}, groups: map[groupKey]*group{}, naming: newNaming(),
	}
	x.current.Store(&snapshot{})
	return x
}

// SetNode adds a Node or replaces what is known of it. The index keeps the parts
// that StripNode keeps, shared with other nodes where they are equal; they must not
// be changed afterwards.
func (x *Index) SetNode(object *corev1.Node) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.nodes[object.Name]
	if n == nil {
		n = &node{name: object.Name, slot: x.newSlot(object.Name)}
		if o, ok := x.orphans[object.Name]; ok {
			n.report, n.renewed = o.report, o.renewed
			delete(x.orphans, object.Name)
		}
		x.nodes[object.Name] = n
	}
	n.created = object.CreationTimestamp.Time
	if n.labels == nil || !n.hasLabels(object.Labels) {
		x.setLabels(n, object.Labels)
	}
	taints, room, listing := n.taints, n.room, n.listing
	n.taints = x.takeTaints(object.Spec.Taints)
	n.room = x.takeRoom(object.Status.Allocatable)
	n.listing = x.takeListing(&object.Status)
	x.taints.leave(taints)
	x.rooms.leave(room)
	x.listings.leave(listing)
	x.touch(n)
	if len(x.labels) >= x.findNamingAt {
		x.findNaming()
	}
}

// DeleteNode removes a Node, and what was reported of it: a node that comes
// back under the same name is another one.
func (x *Index) DeleteNode(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if o, ok := x.orphans[name]; ok {
		x.reports.leave(o.report)
		delete(x.orphans, name)
	}
	n, ok := x.nodes[name]
	if !ok {
		return
	}
	delete(x.nodes, name)
	x.rename(n)
	x.leaveLabels(n.labels)
	x.taints.leave(n.taints)
	x.rooms.leave(n.room)
	x.listings.leave(n.listing)
	x.reports.leave(n.report)
	n.gone = true
	x.touch(n)
}

// SetReport adds the NodeRuntime of a node or replaces it. It may come before
// its Node.
func (x *Index) SetReport(report *v1alpha1.NodeRuntime) {
	x.mu.Lock()
	defer x.mu.Unlock()
	told := x.takeReport(&report.Spec)
	renewed := report.Spec.RenewedAt.Time
	if n, ok := x.nodes[report.Name]; ok {
		x.reports.leave(n.report)
		n.report, n.renewed = told, renewed
		x.touch(n)
		return
	}
	x.reports.leave(x.orphans[report.Name].report)
	x.orphans[report.Name] = orphan{told, renewed}
}

// DeleteReport removes the NodeRuntime of a node.
func (x *Index) DeleteReport(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if o, ok := x.orphans[name]; ok {
		x.reports.leave(o.report)
		delete(x.orphans, name)
	}
	if n, ok := x.nodes[name]; ok {
		x.reports.leave(n.report)
		n.report, n.renewed = nil, time.Time{}
		x.touch(n)
	}
}

// touch says that a node may belong to another group now.
func (x *Index) touch(n *node) {
	if n.touched {
		return
	}
	n.touched = true
	x.touched = append(x.touched, n)
	if x.pending.Load() != 0 {
		return
	}
	x.pending.Store(max(1, int64(time.Since(x.made))))
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *Index) newSlot(name string) int32 {
	if last := len(x.freeSlots) - 1; last >= 0 {
		slot := x.freeSlots[last]
		x.freeSlots = x.freeSlots[:last]
		x.slots.set(slot, place{name: name})
		return slot
	}
	x.slots.add(place{name: name})
	return x.slots.size - 1
}

// Coverage says, of the nodes that a Pod of that Placement may land on, which
// have the handler loaded at the time now ("" is the default handler), and what
// they tell of the features that the Pod needs. A node that lacks the handler and of
// which it is not sure that the Pod may land there (notListed) is none of them:
// it must not be the reason to deny the Pod.
func (x *Index) Coverage(p *Placement, handler string, needs Features, now time.Time) Coverage {
	return x.at(now).coverage(p, handler, needs)
}

// Loaded returns the names of all handlers known to be loaded on any node at
// the time now, sorted. They must not be changed.
func (x *Index) Loaded(now time.Time) []string {
	return x.at(now).loaded
}

// NodeCount returns the number of nodes.
func (x *Index) NodeCount() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.nodes)
}
