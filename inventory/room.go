package inventory

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A room is how much a node can give to Pods (Node.status.allocatable), sorted by
// name. There are a few names in one, so that looking through them is faster than
// a map.
type room []amount

// An amount is so much of a resource, counted as amountOf does.
type amount struct {
	name corev1.ResourceName
	of   int64
}

// of returns how much there is of a resource, and whether it is listed.
func (r room) of(name corev1.ResourceName) (have int64, listed bool) {
	for i := range r {
		if r[i].name == name {
			return r[i].of, true
		}
	}
	return 0, false
}

// roomOf returns the room of a node. It uses the memory of another room, if there is enough.
func roomOf(allocatable corev1.ResourceList, memory room) room {
	r := memory[:0]
	for name, quantity := range allocatable {
		r = append(r, amount{name, amountOf(name, quantity)})
	}
	slices.SortFunc(r, func(a, b amount) int { return strings.Compare(string(a.name), string(b.name)) })
	return r
}

// takeRoom returns the room of a node.
func (x *Index) takeRoom(allocatable corev1.ResourceList) *pooled[room] {
	r := roomOf(allocatable, x.amounts)
	s := x.signature[:0]
	for i := range r {
		s = s.text(string(r[i].name)).number(r[i].of)
	}
	x.amounts, x.signature = r, s
	return x.rooms.take(s, func() room { return slices.Clone(r) })
}
