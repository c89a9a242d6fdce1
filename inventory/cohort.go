package inventory

import "slices"

// A cohort is some of a snapshot's nodes, and enough to name the first of them.
type cohort struct {
	whole
	// names are the first names of the groups that are in it in part.
	names []string
}

// A whole is a number of nodes, and the groups that are in it as a whole.
type whole struct {
	count int32
	// ranks are those of the first of these groups, in order, ranked in number. The
	// first nodes of them all are among theirs: the first node of a group further on
	// comes after the first of each of them.
	ranked int32
	ranks  [SampleSize]int32
}

// add adds the nodes of another cohort.
func (c *cohort) add(other *cohort) {
	if c.count == 0 {
		*c = *other
		c.names = slices.Clip(c.names)
		return
	}
	c.count += other.count
	c.names = append(c.names, other.names...)
	for _, rank := range other.ranks[:other.ranked] {
		c.rank(rank)
	}
}

// rank notes a group, if it is among the first.
func (c *whole) rank(rank int32) {
	at := c.ranked
	switch {
	case at < SampleSize:
		c.ranked++
	case c.ranks[at-1] < rank:
		return
	default:
		at--
	}
	for ; at > 0 && c.ranks[at-1] > rank; at-- {
		c.ranks[at] = c.ranks[at-1]
	}
	c.ranks[at] = rank
}

// nodes names the first nodes of a cohort.
func (s *snapshot) nodes(c *cohort) Nodes {
	n := Nodes{Count: int(c.count)}
	if c.count == 0 {
		return n
	}
	n.Sample = make([]string, 0, SampleSize)
	for _, rank := range c.ranks[:c.ranked] {
		for _, name := range s.groups[s.ranked[rank].number].first {
			if !n.name(name) {
				break
			}
		}
	}
	for _, name := range c.names {
		n.name(name)
	}
	return n
}

// A division is a group of which some nodes are not on the side of the others.
type division struct {
	number  int32
	flipped []int32 // sorted
}

// divisions sorts the nodes that a selection flips by their groups, and these by
// number and by their kinds.
func (s *snapshot) divisions(chosen selected) map[int32][]division {
	if len(chosen.flipped) == 0 {
		return nil
	}
	slots := slices.Clone(chosen.flipped)
	slices.SortStableFunc(slots, func(a, b int32) int { return int(s.slots.at(a).group - s.slots.at(b).group) })
	byKind := map[int32][]division{}
	for len(slots) > 0 {
		number := s.slots.at(slots[0]).group
		n := 1
		for n < len(slots) && s.slots.at(slots[n]).group == number {
			n++
		}
		kind := s.groups[number].kind
		byKind[kind] = append(byKind[kind], division{number, slots[:n]})
		slots = slots[n:]
	}
	return byKind
}

// choose returns, for each kind, its nodes whose labelSets are in sets. It looks at
// no others. Groups that are divided count, and have no ranks.
func (s *snapshot) choose(sets bitmap, divisions map[int32][]division) []whole {
	chosen := make([]whole, len(s.kinds))
	for labels := range sets.each(s.sets) {
		for rank := s.lastOf[labels] - 1; rank >= 0; rank = s.ranked[rank].before - 1 {
			part := &s.ranked[rank]
			c := &chosen[part.kind]
			c.count += part.count
			if len(divisions) == 0 || !divides(divisions[part.kind], part.number) {
				c.rank(rank)
			}
		}
	}
	return chosen
}

// others returns the nodes of a kind that are not chosen.
func (s *snapshot) others(k *kindIn, chosen *whole, sets bitmap, divisions []division) whole {
	others := whole{count: k.all.count - chosen.count}
	if others.count == 0 {
		return others
	}
	for _, rank := range k.ranks {
		if part := &s.ranked[rank]; sets.has(part.labels) || divides(divisions, part.number) {
			continue
		}
		if others.rank(rank); others.ranked == SampleSize {
			break
		}
	}
	return others
}

// divides says whether a group is among those that are divided.
func divides(divisions []division, number int32) bool {
	_, found := slices.BinarySearchFunc(divisions, number, func(d division, number int32) int { return int(d.number - number) })
	return found
}

// divide moves the nodes that are flipped between a cohort of a kind, whose
// labelSets are in sets, and the others.
func (s *snapshot) divide(divisions []division, sets bitmap, c, others *cohort) {
	for i := range divisions {
		d := &divisions[i]
		from, to := others, c
		if sets.has(s.groups[d.number].labels) {
			from, to = c, others
		}
		from.count -= int32(len(d.flipped))
		to.count += int32(len(d.flipped))
		var stay, leave Nodes
		for slot := range s.groups[d.number].members.each() {
			if _, flipped := slices.BinarySearch(d.flipped, slot); !flipped && !stay.name(s.slots.at(slot).name) {
				break
			}
		}
		for _, slot := range d.flipped {
			leave.name(s.slots.at(slot).name)
		}
		from.names = append(from.names, stay.Sample...)
		to.names = append(to.names, leave.Sample...)
	}
}
