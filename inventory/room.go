package inventory

import (
	"maps"
	"slices"

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

func roomOf(allocatable corev1.ResourceList) room {
	r := make(room, 0, len(allocatable))
	for _, name := range slices.Sorted(maps.Keys(allocatable)) {
		r = append(r, amount{name, amountOf(name, allocatable[name])})
	}
	return r
}

// takeRoom returns the room of a node.
func (x *Index) takeRoom(allocatable corev1.ResourceList) *pooled[room] {
	r := roomOf(allocatable)
	s := x.signature[:0]
	for i := range r {
		s = s.text(string(r[i].name)).number(r[i].of)
	}
	x.signature = s
	return x.rooms.take(s, func() room { return r })
}
