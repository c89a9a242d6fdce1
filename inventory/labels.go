package inventory

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// A labelSet is what many nodes have of labels in common: all but the values of
// the naming keys.
type labelSet struct {
	labels map[string]string // a naming key has the value ""
	// naming are the naming keys among them, sorted.
	naming []string
}

// A key is naming when so few nodes have the same value of it that it tells which
// node one is, rather than what kind of node: kubernetes.io/hostname, serial
// numbers, racks. With them in, hardly two nodes would have equal labels. It is
// told by counting, and not by names: everybody can make up such keys.
const (
	// namingValues is the least number of values of a naming key.
	namingValues = 64
	// namingNodes is how many nodes at most have the same value of one, on
	// average. A key that is naming remains so up to twice the number, so that it
	// does not go to and fro.
	namingNodes = 16
)

// namingLimits are those that an Index goes by.
type namingLimits struct{ values, nodes int }

// takeLabels returns the labelSet of a node and its own values of the naming
// keys, in the order of labelSet.naming.
func (x *Index) takeLabels(labels map[string]string) (set *pooled[labelSet], own []string) {
	keys := slices.AppendSeq(x.keys[:0], maps.Keys(labels))
	slices.Sort(keys)
	s := x.signature[:0]
	for _, key := range keys {
		naming := x.naming[key]
		s = s.text(key).flag(naming)
		if naming {
			own = append(own, labels[key])
		} else {
			s = s.text(labels[key])
		}
	}
	x.keys, x.signature = keys, s
	return x.labels.take(s, func() labelSet {
		x.labelsChanged = true
		set := labelSet{labels: make(map[string]string, len(labels))}
		for _, key := range keys {
			if x.naming[key] {
				set.naming, set.labels[key] = append(set.naming, key), ""
			} else {
				set.labels[key] = labels[key]
			}
		}
		return set
	}), own
}

// leaveLabels is the end of a node's use of its labelSet.
func (x *Index) leaveLabels(set *pooled[labelSet]) {
	x.labels.leave(set)
	x.labelsChanged = x.labelsChanged || set != nil && set.uses == 0
}

// setLabels takes over the labels of a node.
func (x *Index) setLabels(n *node, labels map[string]string) {
	set, own := x.takeLabels(labels)
	for i := range own {
		if own[i] == n.name { // not kept twice
			own[i] = n.name
		}
	}
	x.leaveLabels(n.labels)
	if n.labels == nil || !slices.Equal(n.own, own) || !slices.Equal(n.labels.of.naming, set.of.naming) {
		x.rename(n)
		n.own = own
	}
	n.labels = set
}

// hasLabels says whether a node has just these labels. Most of what is told of
// nodes changes none.
func (n *node) hasLabels(labels map[string]string) bool {
	set := &n.labels.of
	if len(labels) != len(set.labels) {
		return false
	}
	for key, value := range labels {
		kept, ok := set.labels[key]
		if i := slices.Index(set.naming, key); i >= 0 {
			kept = n.own[i]
		}
		if !ok || kept != value {
			return false
		}
	}
	return true
}

// allLabels are the labels of a node, put together again.
func (n *node) allLabels() map[string]string {
	all := maps.Clone(n.labels.of.labels)
	for i, key := range n.labels.of.naming {
		all[key] = n.own[i]
	}
	return all
}

// findNaming looks for keys that have become naming. It is called whenever there
// are twice as many labelSets as there were at the last time, so that the number
// remains in bounds also while all nodes of a cluster come in.
func (x *Index) findNaming() {
	nodes, values := map[string]int{}, map[string]map[string]bool{}
	for _, set := range x.labels {
		for key, value := range set.of.labels {
			if x.naming[key] {
				continue
			}
			nodes[key] += set.uses
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			values[key][value] = true
		}
	}
	changed := false
	for key, n := range nodes {
		if v := len(values[key]); v >= x.limits.values && n < v*x.limits.nodes {
			x.naming[key], changed = true, true
		}
	}
	if changed {
		x.relabel()
	}
	x.findNamingAt = max(x.limits.values, 2*len(x.labels))
}

// forgetNaming looks for keys that are no longer naming. Since that takes some
// time, it waits until a quarter of all nodes may have changed in that.
func (x *Index) forgetNaming() (changed bool) {
	if 4*x.renames < len(x.nodes) {
		return false
	}
	x.renames = 0
	for key, all := range x.postings {
		if n := all.values(); all.count() > 2*x.limits.nodes*n {
			delete(x.naming, key)
			changed = true
		}
	}
	if changed {
		x.relabel()
	}
	return changed
}

// relabel finds the labelSets of all nodes anew, after a change of what is naming.
func (x *Index) relabel() {
	for _, n := range x.nodes {
		if n.labels != nil {
			x.setLabels(n, n.allLabels())
			x.touch(n)
		}
	}
}

// newNaming are the naming keys to begin with.
func newNaming() map[string]bool { return map[string]bool{corev1.LabelHostname: true} }

// A column says which labelSets have a key, and which value of it. LabelSets go
// by their numbers.
type column struct {
	with   compact
	naming bool
	// Of a naming key there are none of these.
	values  map[string]compact
	numbers []numbered
}

// A numbered is a value that is a number, for Gt and Lt.
type numbered struct {
	number int64
	sets   compact
}

// numberOf returns the number that the value of a label is, if it is one.
func numberOf(value string) (n int64, ok bool) {
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil
}

// newColumns makes the columns of all keys, and numbers the labelSets.
func newColumns(sets pool[labelSet], naming map[string]bool) map[string]*column {
	with, values := map[string][]int32{}, map[string]map[string][]int32{}
	next := int32(0)
	for _, set := range sets {
		set.number = next
		next++
		for key, value := range set.of.labels {
			with[key] = append(with[key], set.number)
			if naming[key] {
				continue
			}
			if values[key] == nil {
				values[key] = map[string][]int32{}
			}
			values[key][value] = append(values[key][value], set.number)
		}
	}
	columns := make(map[string]*column, len(with))
	for key, numbers := range with {
		c := &column{naming: naming[key], with: newCompact(numbers, len(sets)), values: make(map[string]compact, len(values[key]))}
		for value, numbers := range values[key] {
			c.values[value] = newCompact(numbers, len(sets))
			if n, ok := numberOf(value); ok {
				c.numbers = append(c.numbers, numbered{n, c.values[value]})
			}
		}
		columns[key] = c
	}
	return columns
}
