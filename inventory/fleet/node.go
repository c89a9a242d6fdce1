package fleet

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A Member is a Node, and what its reporter has published.
type Member struct {
	Object *corev1.Node
	// Report is nil where there is none.
	Report *v1alpha1.NodeRuntime
}

// A Fleet is the nodes of a cluster at one moment.
type Fleet struct {
	Nodes   []*Node // sorted by name
	options inventory.Options
	now     time.Time
}

// A Node is one of them.
type Node struct {
	Name string
	Member
	// Runtime and Version are those of the container runtime, as its reporter or
	// else its kubelet tells them; empty if neither does.
	Runtime, Version string
	// Freshness says what the knowledge of the node rests on.
	Freshness inventory.Freshness

	fleet *Fleet
	alone *inventory.Index
}

// New makes the Fleet of some nodes at the time now.
func New(members []Member, options inventory.Options, now time.Time) *Fleet {
	f := &Fleet{options: options, now: now}
	for _, m := range members {
		n := &Node{Name: m.Object.Name, Member: m, fleet: f}
		n.Runtime, n.Version = runtimeOf(m)
		for freshness, count := range n.index().Summary(nil, now).Nodes {
			if count > 0 {
				n.Freshness = freshness
			}
		}
		f.Nodes = append(f.Nodes, n)
	}
	slices.SortFunc(f.Nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// Node returns the node of a name, nil if there is none.
func (f *Fleet) Node(name string) *Node {
	at, ok := slices.BinarySearchFunc(f.Nodes, name, func(n *Node, name string) int { return strings.Compare(n.Name, name) })
	if !ok {
		return nil
	}
	return f.Nodes[at]
}

// index is an Index of this node alone.
func (n *Node) index() *inventory.Index {
	if n.alone == nil {
		n.alone = inventory.NewIndex(n.fleet.options)
		n.alone.SetNode(n.Object)
		if n.Report != nil {
			n.alone.SetReport(n.Report)
		}
	}
	return n.alone
}

// States says what is known of handlers on the node; "" is the default one.
func (n *Node) States(handlers []string) map[string]inventory.HandlerState {
	states := make(map[string]inventory.HandlerState, len(handlers))
	for handler, counts := range n.index().Summary(handlers, n.fleet.now).Handlers {
		for state, count := range counts {
			if count > 0 {
				states[handler] = state
			}
		}
	}
	return states
}

// Loaded returns the handlers known to be loaded on the node, sorted.
func (n *Node) Loaded() []string { return n.index().Loaded(n.fleet.now) }

// IsCurrent says whether what the node's report tells counts, if only its findings.
func (n *Node) IsCurrent() bool {
	if n.Report == nil {
		return false
	}
	if len(n.Report.Spec.Handlers) > 0 {
		return n.Freshness == inventory.Fresh
	}
	// One that has never seen its runtime knows no handler.
	return n.Age() <= n.fleet.options.StaleAfter
}

// Age is the age of the node's report; 0 if there is none.
func (n *Node) Age() time.Duration {
	if n.Report == nil {
		return 0
	}
	return n.fleet.now.Sub(n.Report.Spec.RenewedAt.Time)
}

// Findings are those of the node's report, if it is not too old.
func (n *Node) Findings() []v1alpha1.Finding {
	if !n.IsCurrent() {
		return nil
	}
	return n.Report.Spec.Findings
}

// Unready is the condition of a node that is not Ready; nil for one that is, or of
// which nothing is told.
func (n *Node) Unready() *corev1.NodeCondition {
	for i, c := range n.Object.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return &n.Object.Status.Conditions[i]
		}
	}
	return nil
}

// IsDown says whether the node's report tells that its runtime does not answer: then
// all else in it is what was before.
func (n *Node) IsDown() bool {
	return slices.ContainsFunc(n.Findings(), func(f v1alpha1.Finding) bool { return f.Code == v1alpha1.FindingRuntimeUnreachable })
}

// IsCordoned says whether the node lets no new Pod in. The field is not kept of nodes
// that an Index has, the taint that goes with it is.
func (n *Node) IsCordoned() bool {
	return n.Object.Spec.Unschedulable || slices.ContainsFunc(n.Object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
}

// SettledAt is when the node no longer counts as new; zero if it does not now.
func (n *Node) SettledAt() time.Time {
	at := n.Object.CreationTimestamp.Add(n.fleet.options.NodeSettle)
	if !at.After(n.fleet.now) {
		return time.Time{}
	}
	return at
}

// Default is the default handler of the node, "" if that is not known.
func (n *Node) Default() string {
	if n.Freshness != inventory.Fresh {
		return ""
	}
	return n.Report.Spec.DefaultHandler
}

// RuntimeText is the runtime's name and version for people.
func (n *Node) RuntimeText() string { return strings.TrimSpace(n.Runtime + " " + n.Version) }

// runtimeOf tells the runtime of a node.
func runtimeOf(m Member) (name, version string) {
	if m.Report != nil && m.Report.Spec.Runtime.Name != "" {
		return m.Report.Spec.Runtime.Name, strings.TrimPrefix(m.Report.Spec.Runtime.Version, "v")
	}
	name, version, _ = strings.Cut(m.Object.Status.NodeInfo.ContainerRuntimeVersion, "://")
	return name, strings.TrimPrefix(version, "v")
}
