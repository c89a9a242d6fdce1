package inventory

import (
	"maps"
	"slices"
	"time"
)

// A snapshot is all that questions need, as it is from one time until another. It
// is never changed.
type snapshot struct {
	// from and until are the times between which it is right: the second is no
	// longer part of it, and zero if there is no end.
	from, until time.Time

	// columns are of the labelSets, sets in number.
	columns map[string]*column
	sets    int
	// postings are of the naming keys.
	postings map[string]postings

	slots pages[place]
	// byName are the slots in use in the order of names.
	byName sorted[int32]

	groups []groupIn
	// ranked are the groups in the order of their first nodes' names.
	ranked []share
	// lastOf is, for each labelSet, the rank of its last group, plus 1.
	lastOf []int32
	kinds  []kindIn
	// What kinds have in common.
	views  []*view
	taints []taintList
	rooms  []room

	loaded []string
}

// A groupIn is what a snapshot has of a group.
type groupIn struct {
	labels, kind int32
	members      sorted[int32]
	first        []string
}

// A kindIn is what a snapshot has of a kind.
type kindIn struct {
	view, taints, room int32
	// all are its nodes, and ranks those of its groups.
	all   cohort
	ranks []int32
}

// A share is what a group has of its kind and of its labelSet: of this, before is
// the rank of the group before it, plus 1.
type share struct{ labels, kind, number, count, before int32 }

// holds says whether a snapshot is right at a time.
func (s *snapshot) holds(at time.Time) bool {
	return !at.Before(s.from) && (s.until.IsZero() || at.Before(s.until))
}

// renew makes a snapshot that is right at the time now, and has all changes.
func (x *Index) renew(now time.Time) *snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.current.Load()
	if x.pending.Load() == 0 && old.holds(now) { // made in the meantime
		return old
	}
	if now.Before(x.from) {
		x.rewind()
	}
	x.expire(now)
	s := *old
	renamed := len(x.renamed) > 0
	if renamed {
		x.updateNames()
		s.byName, s.postings = x.byName, x.postings
	}
	regrouped := x.regroup(now)
	if x.labelsChanged {
		s.columns, s.sets = newColumns(x.labels, x.naming), len(x.labels)
	}
	if renamed || regrouped {
		s.slots = x.slots.share()
	}
	if regrouped || x.labelsChanged {
		x.fill(&s)
	}
	x.labelsChanged = false
	s.from, s.until = x.from, time.Time{}
	if len(x.deadlines) > 0 {
		s.until = x.deadlines[0].at
	}
	x.release()
	// In this order, and asked for in the other: who finds nothing pending finds a
	// snapshot that has it.
	x.current.Store(&s)
	x.pending.Store(0)
	return &s
}

// fill puts the groups into a snapshot.
func (x *Index) fill(s *snapshot) {
	x.fillKinds(s)
	s.groups = make([]groupIn, x.numbers)
	s.ranked, s.lastOf = make([]share, len(x.ranked)), make([]int32, s.sets)
	for i, g := range x.ranked {
		rank, last := int32(i), &s.lastOf[g.labels.number]
		part := share{g.labels.number, g.kind.number, g.number, int32(g.members.count()), *last}
		s.groups[g.number] = groupIn{part.labels, part.kind, g.members, g.first}
		s.ranked[rank], *last = part, rank+1
		k := &s.kinds[part.kind]
		k.ranks = append(k.ranks, rank)
		k.all.count += part.count
		k.all.rank(rank)
	}
}

// fillKinds puts the kinds into a snapshot, without their groups, and numbers
// them.
func (x *Index) fillKinds(s *snapshot) {
	s.kinds = make([]kindIn, 0, len(x.kinds))
	s.views, s.taints, s.rooms = make([]*view, 0, len(x.views)), nil, nil
	loaded := map[string]bool{}
	for _, v := range x.views {
		v.number = int32(len(s.views))
		s.views = append(s.views, v)
		for _, name := range v.loaded {
			loaded[name] = true
		}
	}
	s.loaded = slices.Clip(slices.Sorted(maps.Keys(loaded))) // shared by all who ask
	taints, rooms := map[*pooled[taintList]]int32{}, map[*pooled[room]]int32{}
	for _, k := range x.kinds {
		if _, ok := taints[k.taints]; !ok {
			taints[k.taints] = int32(len(s.taints))
			s.taints = append(s.taints, k.taints.of)
		}
		if _, ok := rooms[k.room]; !ok {
			rooms[k.room] = int32(len(s.rooms))
			s.rooms = append(s.rooms, k.room.of)
		}
		k.number = int32(len(s.kinds))
		s.kinds = append(s.kinds, kindIn{view: k.view.number, taints: taints[k.taints], room: rooms[k.room], ranks: make([]int32, 0, k.groups)})
	}
}
