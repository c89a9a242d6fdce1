package inventory

import (
	"slices"
	"strings"
	"time"
)

// regroup puts the touched nodes into the groups where they belong at the time
// now, and says whether any group has changed.
func (x *Index) regroup(now time.Time) (changed bool) {
	var groups []*group
	note := func(g *group) {
		if !g.touched {
			g.touched = true
			groups = append(groups, g)
		}
	}
	for _, n := range x.touched {
		n.touched = false
		to := x.groupFor(n, now)
		if to == n.group {
			continue
		}
		if n.group != nil {
			n.group.leaving = append(n.group.leaving, n.slot)
			note(n.group)
		}
		if to != nil {
			to.joining = append(to.joining, n.slot)
			note(to)
			x.slots.set(n.slot, place{n.name, to.number})
		}
		n.group = to
	}
	if len(groups) == 0 {
		return false
	}
	for _, g := range groups {
		g.members = g.members.changed(g.leaving, g.joining, x.compareNames)
		g.leaving, g.joining = nil, nil
		g.first = x.firstNames(g.members)
	}
	x.rank(groups)
	for _, g := range groups {
		g.touched = false
		if len(g.members) == 0 {
			x.removeGroup(g)
		}
	}
	return true
}

// firstNames are the names that a question may ask for.
func (x *Index) firstNames(members sorted[int32]) []string {
	names := make([]string, 0, min(SampleSize, members.count()))
	for slot := range members.each() {
		if len(names) == cap(names) {
			break
		}
		names = append(names, x.slots.at(slot).name)
	}
	return names
}

// rank puts the touched groups where they belong in the order of first nodes' names.
func (x *Index) rank(touched []*group) {
	x.ranked = slices.DeleteFunc(x.ranked, func(g *group) bool { return g.touched })
	live := slices.DeleteFunc(slices.Clone(touched), func(g *group) bool { return len(g.members) == 0 })
	byFirst := func(a, b *group) int { return strings.Compare(a.first[0], b.first[0]) }
	slices.SortFunc(live, byFirst)
	x.ranked = merge(x.ranked, nil, live, byFirst)
}

// groupFor returns the group of a node at the time now; nil if it is gone. It
// sees to it that the node is looked at when that changes.
func (x *Index) groupFor(n *node, now time.Time) *group {
	if n.gone {
		return nil
	}
	last, next := n.changes(now, &x.options)
	x.from = later(x.from, last)
	x.remind(n, next)
	key := kindKey{n.taints, n.room, viewKey{n.listing, n.report, n.isCurrent(now, &x.options), n.isYoung(now, &x.options)}}
	if g := n.group; g != nil && g.labels == n.labels && g.kind.kindKey == key {
		return g
	}
	k, ok := x.kinds[key]
	if !ok {
		v, ok := x.views[key.viewKey]
		if !ok {
			v = newView(key.viewKey)
			x.views[key.viewKey] = v
		}
		v.kinds++
		k = &kind{kindKey: key, view: v}
		x.kinds[key] = k
	}
	of := groupKey{n.labels, k}
	g, ok := x.groups[of]
	if !ok {
		g = &group{groupKey: of}
		if last := len(x.freeNumbers) - 1; last >= 0 {
			g.number, x.freeNumbers = x.freeNumbers[last], x.freeNumbers[:last]
		} else {
			g.number = x.numbers
			x.numbers++
		}
		x.groups[of] = g
		k.groups++
	}
	return g
}

// removeGroup removes a group of no nodes, and what it was the last to have.
func (x *Index) removeGroup(g *group) {
	delete(x.groups, g.groupKey)
	x.freeNumbers = append(x.freeNumbers, g.number)
	if g.kind.groups--; g.kind.groups > 0 {
		return
	}
	delete(x.kinds, g.kind.kindKey)
	if g.kind.view.kinds--; g.kind.view.kinds == 0 {
		delete(x.views, g.kind.viewKey)
	}
}

// release gives the slots free of nodes that are gone.
func (x *Index) release() {
	for _, n := range x.touched {
		if n.gone {
			x.freeSlots = append(x.freeSlots, n.slot)
		}
	}
	x.touched = nil
}
