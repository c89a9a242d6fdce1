package inventory

import (
	"slices"
	"strings"
)

// A posting says which node has a value of a naming key.
type posting struct {
	value string
	slot  int32
}

// A postings is all nodes that have a naming key, in the order of its values. It
// is never changed, since snapshots have it.
type postings []posting

// of returns the slots of the nodes with a value.
func (p postings) of(value string) postings {
	from, _ := slices.BinarySearchFunc(p, value, func(p posting, value string) int { return strings.Compare(p.value, value) })
	to := from
	for to < len(p) && p[to].value == value {
		to++
	}
	return p[from:to]
}

// values is how many values there are.
func (p postings) values() (n int) {
	for i := range p {
		if i == 0 || p[i].value != p[i-1].value {
			n++
		}
	}
	return n
}

// rename says that a node is new or gone, or that its values of naming keys are
// others than before.
func (x *Index) rename(n *node) { x.renamed = append(x.renamed, n) }

// updateNames brings the lists of all nodes up to date: those by name, and those
// by the values of naming keys.
func (x *Index) updateNames() {
	old := newBitmap(len(x.names))
	var added []int32
	values := map[string]postings{}
	for _, n := range x.renamed {
		if old.has(n.slot) {
			continue
		}
		old.add(n.slot)
		if n.gone {
			continue
		}
		added = append(added, n.slot)
		for i, key := range n.labels.of.naming {
			values[key] = append(values[key], posting{n.own[i], n.slot})
		}
	}
	isOld := func(slot int32) bool { return old.has(slot) }
	x.byName = merge(x.byName, isOld, added, x.compareNames)
	// A key may be in use again that nobody had, or no longer be naming.
	updated := map[string]postings{}
	for key := range x.naming {
		all := merge(x.postings[key], func(p posting) bool { return isOld(p.slot) }, values[key], func(a, b posting) int {
			if by := strings.Compare(a.value, b.value); by != 0 {
				return by
			}
			return int(a.slot - b.slot)
		})
		if len(all) > 0 {
			updated[key] = all
		}
	}
	x.postings = updated
	x.renames += len(x.renamed)
	x.renamed = nil
	if x.forgetNaming() {
		x.updateNames()
	}
}

// compareNames compares nodes by name.
func (x *Index) compareNames(a, b int32) int { return strings.Compare(x.names[a], x.names[b]) }

// merge returns a sorted list without what is gone, and with what is new, which
// it sorts. What is neither is not compared: there may be as many as nodes.
func merge[T any](all []T, gone func(T) bool, added []T, compare func(a, b T) int) []T {
	merged := make([]T, 0, len(all)+len(added))
	from := 0
	for i := range all {
		if gone(all[i]) {
			merged, from = append(merged, all[from:i]...), i+1
		}
	}
	merged = append(merged, all[from:]...)
	// From the end, each to the place that it has in the end.
	slices.SortFunc(added, compare)
	rest := len(merged)
	merged = merged[:rest+len(added)]
	for i, one := range slices.Backward(added) {
		at, _ := slices.BinarySearchFunc(merged[:rest], one, compare)
		copy(merged[at+i+1:], merged[at:rest])
		merged[at+i] = one
		rest = at
	}
	return merged
}
