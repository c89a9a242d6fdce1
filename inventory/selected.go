package inventory

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A selected is some of a snapshot's nodes: those whose labelSet is in sets, but
// of the slots in flipped the opposite is so. These are few, unless many nodes are
// asked for by a naming key. They are sorted.
type selected struct {
	sets    bitmap
	flipped []int32
}

// has says whether a node is selected.
func (s *snapshot) has(of selected, slot int32) bool {
	_, flipped := slices.BinarySearch(of.flipped, slot)
	return of.sets.has(s.groups[s.slots.at(slot).group].labels) != flipped
}

// selects returns the nodes that a Placement selects, and whether these are all.
func (s *snapshot) selects(p *Placement) (chosen selected, all bool) {
	if p.nodeName == "" && p.selector == nil {
		return selected{}, true
	}
	if p.nodeName == "" {
		return s.selectedBy(p.selector), false
	}
	named := selected{sets: newBitmap(s.sets), flipped: s.called(p.nodeName)}
	if p.selector == nil {
		return named, false
	}
	return s.both(named, s.selectedBy(p.selector)), false
}

func (s *snapshot) selectedBy(from *selector) selected {
	found := s.allOf(from.all)
	if !from.affine {
		return found
	}
	affine := selected{sets: newBitmap(s.sets)}
	for _, term := range from.anyOf {
		affine = s.either(affine, s.allOf(term))
	}
	return s.both(found, affine)
}

// allOf returns the nodes that meet all requirements.
func (s *snapshot) allOf(requirements []requirement) selected {
	found := selected{sets: newBitmap(s.sets)}
	found.sets.invert()
	memory := newBitmap(s.sets)
	for i := range requirements {
		found = s.both(found, s.meeting(&requirements[i], memory))
	}
	return found
}

// both returns the nodes that are in two selections. It uses the memory of the
// first.
func (s *snapshot) both(a, b selected) selected {
	flipped := s.combined(a, b, func(a, b bool) bool { return a && b })
	a.sets.and(b.sets)
	return selected{a.sets, flipped}
}

// either returns the nodes that are in one of two selections at least.
func (s *snapshot) either(a, b selected) selected {
	flipped := s.combined(a, b, func(a, b bool) bool { return a || b })
	a.sets.or(b.sets)
	return selected{a.sets, flipped}
}

// combined returns the nodes for which the combination of two selections is not
// that of their labelSets.
func (s *snapshot) combined(a, b selected, combine func(a, b bool) bool) (flipped []int32) {
	if len(a.flipped)+len(b.flipped) == 0 {
		return nil
	}
	for _, slot := range sortedSlots(append(slices.Clone(a.flipped), b.flipped...)) {
		labels := s.groups[s.slots.at(slot).group].labels
		if combine(s.has(a, slot), s.has(b, slot)) != combine(a.sets.has(labels), b.sets.has(labels)) {
			flipped = append(flipped, slot)
		}
	}
	return flipped
}

func sortedSlots(slots []int32) []int32 {
	if len(slots) < 2 {
		return slots
	}
	slices.Sort(slots)
	return slices.Compact(slots)
}

// meeting returns the nodes that meet a requirement. It uses the memory.
func (s *snapshot) meeting(r *requirement, memory bitmap) selected {
	clear(memory)
	found := selected{sets: memory}
	if r.byName {
		return s.meetingByName(r, found)
	}
	column := s.columns[r.key]
	if column == nil {
		column = &emptyColumn
	}
	var named postings
	if column.naming {
		named = s.postings[r.key]
	}
	switch r.operator {
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		column.with.addTo(found.sets)
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		for _, value := range r.values {
			column.values[value].addTo(found.sets)
			found.flipped = named.addTo(found.flipped, value)
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		for i := range column.numbers {
			if r.compares(column.numbers[i].number) {
				column.numbers[i].sets.addTo(found.sets)
			}
		}
		for one := range named.each() {
			if n, ok := numberOf(one.value); ok && r.compares(n) {
				found.flipped = append(found.flipped, one.slot)
			}
		}
	}
	found.flipped = sortedSlots(found.flipped)
	if r.operator == corev1.NodeSelectorOpNotIn || r.operator == corev1.NodeSelectorOpDoesNotExist {
		found.sets.invert()
	}
	return found
}

var emptyColumn column

// meetingByName adds the nodes whose name meets a requirement.
func (s *snapshot) meetingByName(r *requirement, found selected) selected {
	switch {
	case r.key != nameField: // it is empty on all
		if r.isIn("") {
			found.sets.invert()
		}
		return found
	case r.operator == corev1.NodeSelectorOpNotIn:
		found.sets.invert()
	}
	found.flipped = s.called(r.values[0])
	return found
}

// called returns the node of a name, if there is one.
func (s *snapshot) called(name string) []int32 {
	chunk, at := find(s.byName, name, func(slot int32, name string) int { return strings.Compare(s.slots.at(slot).name, name) })
	if chunk == len(s.byName) || s.slots.at(s.byName[chunk][at]).name != name {
		return nil
	}
	return s.byName[chunk][at : at+1 : at+1]
}
