package inventory

import "strings"

// A posting says which node has a value of a naming key.
type posting struct {
	value string
	slot  int32
}

// A postings is all nodes that have a naming key, in the order of its values.
type postings struct{ sorted[posting] }

// addTo adds the slots of the nodes with a value to a list.
func (p postings) addTo(slots []int32, value string) []int32 {
	chunk, at := find(p.sorted, value, func(p posting, value string) int { return strings.Compare(p.value, value) })
	for ; chunk < len(p.sorted); chunk, at = chunk+1, 0 {
		for _, one := range p.sorted[chunk][at:] {
			if one.value != value {
				return slots
			}
			slots = append(slots, one.slot)
		}
	}
	return slots
}

// values is how many values there are.
func (p postings) values() (n int) {
	var last posting
	for one := range p.each() {
		if n == 0 || one.value != last.value {
			n++
		}
		last = one
	}
	return n
}

func comparePostings(a, b posting) int {
	if by := strings.Compare(a.value, b.value); by != 0 {
		return by
	}
	return int(a.slot - b.slot)
}

// A renaming is a node that is new or gone, or that has other values of naming
// keys; and what the lists of the last snapshot have of it.
type renaming struct {
	*node
	listed      bool
	naming, own []string
}

// rename says that a node is about to be new or gone, or to have other values of
// naming keys.
func (x *Index) rename(n *node) {
	if n.renamed {
		return
	}
	n.renamed = true
	r := renaming{node: n, listed: n.labels != nil, own: n.own}
	if r.listed {
		r.naming = n.labels.of.naming
	}
	x.renamed = append(x.renamed, r)
}

// updateNames brings the lists of all nodes up to date: those by name, and those
// by the values of naming keys.
func (x *Index) updateNames() {
	var gone, added []int32
	old, values := map[string][]posting{}, map[string][]posting{}
	for _, r := range x.renamed {
		n := r.node
		n.renamed = false
		for i, key := range r.naming {
			old[key] = append(old[key], posting{r.own[i], n.slot})
		}
		switch {
		case n.gone && r.listed:
			gone = append(gone, n.slot)
		case !n.gone && !r.listed:
			added = append(added, n.slot)
		}
		if n.gone {
			continue
		}
		for i, key := range n.labels.of.naming {
			values[key] = append(values[key], posting{n.own[i], n.slot})
		}
	}
	x.byName = x.byName.changed(gone, added, x.compareNames)
	// A key may be in use again that nobody had, or no longer be naming.
	updated := map[string]postings{}
	for key := range x.naming {
		all := x.postings[key].changed(old[key], values[key], comparePostings)
		if len(all) > 0 {
			updated[key] = postings{all}
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
func (x *Index) compareNames(a, b int32) int {
	return strings.Compare(x.slots.at(a).name, x.slots.at(b).name)
}
