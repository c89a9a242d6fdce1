package inventory

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Knowledge is what is known about a handler on a node.
type Knowledge int

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
)

// SampleSize is how many nodes are named in a Nodes.
const SampleSize = 3

// Nodes are a number of nodes, some of them by name.
type Nodes struct {
	Count int
	// Sample are the first names in order, SampleSize at most.
	Sample []string
}

func (n *Nodes) add(name string) {
	n.Count++
	at, _ := slices.BinarySearch(n.Sample, name)
	if at == SampleSize {
		return
	}
	n.Sample = slices.Insert(n.Sample, at, name)
	if len(n.Sample) > SampleSize {
		n.Sample = n.Sample[:SampleSize]
	}
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
	Has, Lacks, Silent, Stale, Young Nodes

	// Broken are those of Has whose shim or OCI runtime is missing, and Expiring
	// those that lose the handler at the next start of their runtime.
	Broken, Expiring Nodes

	// Loaded are the handlers known to be loaded on any of those nodes, sorted.
	Loaded []string

	// Elsewhere are nodes that have the handler and that the Pod may not land on.
	Elsewhere Nodes
	// Tainted are nodes that only an untolerated taint keeps out, and Taint one
	// of these taints; TooSmall are those that only its requests keep out.
	Tainted  Nodes
	Taint    corev1.Taint
	TooSmall Nodes
}

// Candidates is the number of nodes that the Pod may land on.
func (c *Coverage) Candidates() int {
	return c.Has.Count + c.Lacks.Count + c.Unknown()
}

// Unknown is the number of candidates of which it is not known whether they
// have the handler.
func (c *Coverage) Unknown() int {
	return c.Silent.Count + c.Stale.Count + c.Young.Count
}

// UnknownNodes are the candidates of which it is not known whether they have
// the handler.
func (c *Coverage) UnknownNodes() Nodes {
	nodes := Nodes{Count: c.Unknown()}
	for _, part := range []Nodes{c.Silent, c.Stale, c.Young} {
		nodes.Sample = append(nodes.Sample, part.Sample...)
	}
	slices.Sort(nodes.Sample)
	if len(nodes.Sample) > SampleSize {
		nodes.Sample = nodes.Sample[:SampleSize]
	}
	return nodes
}

func (c *Coverage) nodes(k Knowledge) *Nodes {
	switch k {
	case Has:
		return &c.Has
	case Lacks:
		return &c.Lacks
	case UnknownStale:
		return &c.Stale
	case UnknownYoung:
		return &c.Young
	}
	return &c.Silent
}

func (c *Coverage) addLoaded(names []string) {
	for _, name := range names {
		at, found := slices.BinarySearch(c.Loaded, name)
		if !found {
			c.Loaded = slices.Insert(c.Loaded, at, name)
		}
	}
}
