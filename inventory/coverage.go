package inventory

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Knowledge is what is known about a handler on a node.
type Knowledge int8

const (
	// Has: the handler is loaded.
	Has Knowledge = iota
	// Lacks: the runtime has told what it has loaded, and this is not in it.
	Lacks
	// UnknownSilent: nobody has told what the node has loaded.
	UnknownSilent
	// UnknownStale: what was told is too old to count.
	UnknownStale
	// UnknownYoung: the node is new; an installer may still be at work on it.
	UnknownYoung
	// UnknownDown: the runtime does not answer. What it had is not loaded now, and it may
	// come back with more or less.
	UnknownDown
)

// SampleSize is how many nodes are named in a Nodes.
const SampleSize = 3

// Nodes are a number of nodes, some of them by name.
type Nodes struct {
	Count int
	// Sample are the first names in order, SampleSize at most.
	Sample []string
}

// name names a node if it is among the first, and says whether it is.
func (n *Nodes) name(name string) bool {
	at := len(n.Sample)
	for at > 0 && name < n.Sample[at-1] {
		at--
	}
	if at == SampleSize {
		return false
	}
	if len(n.Sample) < SampleSize {
		n.Sample = append(n.Sample, "")
	}
	copy(n.Sample[at+1:], n.Sample[at:])
	n.Sample[at] = name
	return true
}

// String returns the names in the form "a, b, c and 4 more".
func (n Nodes) String() string {
	names := strings.Join(n.Sample, ", ")
	if more := n.Count - len(n.Sample); more > 0 {
		return names + " and " + strconv.Itoa(more) + " more"
	}
	return names
}

// Coverage answers a question about one handler: the nodes that a Pod may land
// on, by what is known about the handler there.
type Coverage struct {
	Has, Lacks, Silent, Stale, Young, Down Nodes

	// Broken are those of Has that can't start a sandbox with the handler, and Faults
	// why, all of them together.
	Broken Nodes
	Faults Faults
	// Expiring are those that lose the handler at the next start of their runtime, or
	// have it then without what its Pods need to start; Breaking are the latter.
	Expiring, Breaking Nodes

	// Standards are the default handlers, as far as they are known, of the nodes
	// that Has counts, sorted; asked for handler "".
	Standards []string

	// Features is, for each feature asked for, what the nodes that Has counts
	// tell of it.
	Features []FeatureCoverage

	// Loaded are the handlers known to be loaded on any of those nodes, sorted.
	Loaded []string

	// Elsewhere are nodes that have the handler and that the Pod may not land on.
	Elsewhere Nodes
	// Tainted are those nodes that have the handler, and that only an untolerated
	// taint keeps out; MaybeTainted are the like of which it is not known whether
	// they have it. Taint is one of these taints, SeveralTaints says whether there
	// are others. TooSmall are nodes that only the Pod's requests keep out.
	Tainted, MaybeTainted Nodes
	Taint                 corev1.Taint
	SeveralTaints         bool
	TooSmall              Nodes
	// Settling are new nodes that only an untolerated taint keeps out: start-up
	// taints have any name, and go when the node has settled.
	Settling Nodes
	// Crowded are those nodes that have the handler, and that only the overhead
	// of the Pod's class keeps out.
	Crowded Nodes
}

// FeatureCoverage answers a question about one feature: the nodes with the
// handler, by what is known about the feature there.
type FeatureCoverage struct {
	Feature             Features
	Has, Lacks, Unknown Nodes
}

// IsMissing says whether nodes have the handler, and all of them told that they
// do not offer the feature.
func (f FeatureCoverage) IsMissing() bool {
	return f.Lacks.Count > 0 && f.Has.Count+f.Unknown.Count == 0
}

// IsUnknown says whether no node is known to offer the feature, and some have
// not told.
func (f FeatureCoverage) IsUnknown() bool {
	return f.Unknown.Count > 0 && f.Has.Count == 0
}

// Candidates is the number of nodes that the Pod may land on.
func (c *Coverage) Candidates() int {
	return c.Has.Count + c.Lacks.Count + c.Unknown()
}

// Unknown is the number of candidates of which it is not known whether they
// have the handler.
func (c *Coverage) Unknown() int {
	return c.Silent.Count + c.Stale.Count + c.Young.Count + c.Down.Count
}

// UnknownNodes are the candidates of which it is not known whether they have
// the handler.
func (c *Coverage) UnknownNodes() Nodes {
	nodes := Nodes{Count: c.Unknown()}
	for _, part := range []Nodes{c.Silent, c.Stale, c.Young, c.Down} {
		nodes.Sample = append(nodes.Sample, part.Sample...)
	}
	slices.Sort(nodes.Sample)
	if len(nodes.Sample) > SampleSize {
		nodes.Sample = nodes.Sample[:SampleSize]
	}
	return nodes
}
