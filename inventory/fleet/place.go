package fleet

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/inventory"
)

// A Place says whether a Pod may land on a node.
type Place string

// The places, from the one that matters most.
const (
	// Candidate: it may.
	Candidate Place = "Candidate"
	// Tainted: but for a taint that it does not tolerate.
	Tainted Place = "Tainted"
	// TooSmall: but for its requests.
	TooSmall Place = "TooSmall"
	// Crowded: but for the overhead of its class.
	Crowded Place = "Crowded"
	// RuledOut: by nodeName, selector or affinity, or by several things.
	RuledOut Place = "RuledOut"
)

// Places are all of them.
var Places = []Place{Candidate, Tainted, TooSmall, Crowded, RuledOut}

// A Landing is a Pod that is to land somewhere, and what it asks for there.
type Landing struct {
	Placement *inventory.Placement
	Handler   string
	Needs     inventory.Features
}

// Place says whether a Pod may land on the node, why it is not known whether the
// node has the handler, if it is not, and the taint that keeps the Pod off.
func (n *Node) Place(l Landing) (Place, inventory.Freshness, corev1.Taint) {
	c := n.index().Coverage(l.Placement, l.Handler, l.Needs, n.fleet.now)
	switch {
	case c.Young.Count > 0:
		return Candidate, inventory.Young, corev1.Taint{}
	case c.Stale.Count > 0:
		return Candidate, inventory.Stale, corev1.Taint{}
	case c.Silent.Count > 0:
		return Candidate, inventory.Silent, corev1.Taint{}
	case c.Candidates() > 0:
		return Candidate, "", corev1.Taint{}
	case c.Crowded.Count > 0:
		return Crowded, "", corev1.Taint{}
	case c.Tainted.Count+c.MaybeTainted.Count > 0:
		return Tainted, "", c.Taint
	case c.TooSmall.Count > 0:
		return TooSmall, "", corev1.Taint{}
	}
	return RuledOut, "", corev1.Taint{}
}
