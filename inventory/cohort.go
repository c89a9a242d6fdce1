package inventory

import "slices"

// A cohort is some of a snapshot's nodes, and enough to name the first of them.
type cohort struct {
	count int
	// ranks are those of the first groups in it that are in it as a whole, in order,
	// ranked in number. The first nodes of all these groups are among theirs: the
	// first node of a group further on comes after the first of each of them.
	ranks  [SampleSize]int32
	ranked int
	// names are the first names of the groups that are in it in part.
	names []string
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
	if c.ranked == SampleSize && (other.ranked == 0 || other.ranks[0] > c.ranks[SampleSize-1]) {
		return
	}
	var ranks [SampleSize]int32
	n, i, j := 0, 0, 0
	for n < SampleSize && i+j < c.ranked+other.ranked {
		if j == other.ranked || i < c.ranked && c.ranks[i] < other.ranks[j] {
			ranks[n] = c.ranks[i]
			i++
		} else {
			ranks[n] = other.ranks[j]
			j++
		}
		n++
	}
	c.ranks, c.ranked = ranks, n
}

// nodes names the first nodes of a cohort.
func (s *snapshot) nodes(c *cohort) Nodes {
	n := Nodes{Count: c.count}
	if c.count == 0 {
		return n
	}
	n.Sample = make([]string, 0, SampleSize)
	for _, rank := range c.ranks[:c.ranked] {
		for slot := range s.groups[s.ranked[rank]].members.each() {
			if !n.name(s.slots.at(slot).name) {
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

// choose divides a kind into the nodes that are chosen, and the others.
func (s *snapshot) choose(k *kindIn, sets bitmap, divisions []division) (chosen, others cohort) {
	for i := range k.groups {
		part := &k.groups[i]
		chosen.count += int(part.count) & -sets.bit(part.labels)
	}
	others.count = k.all.count - chosen.count
	k.rank(&chosen, sets, 1, divisions)
	k.rank(&others, sets, 0, divisions)
	for i := range divisions {
		if d := &divisions[i]; sets.has(s.groups[d.number].labels) {
			s.divide(d, &chosen, &others)
		} else {
			s.divide(d, &others, &chosen)
		}
	}
	return chosen, others
}

// rank finds the first groups of a cohort that are in it as a whole: those whose
// labelSets have that bit.
func (k *kindIn) rank(c *cohort, sets bitmap, bit int, divisions []division) {
	if c.count == 0 {
		return
	}
	for i := range k.groups {
		part := &k.groups[i]
		if sets.bit(part.labels) != bit {
			continue
		}
		if _, divided := slices.BinarySearchFunc(divisions, part.number, func(d division, number int32) int { return int(d.number - number) }); divided {
			continue
		}
		c.ranks[c.ranked] = part.rank
		if c.ranked++; c.ranked == SampleSize {
			return
		}
	}
}

// divide takes the nodes that are flipped from one cohort, which has their group,
// to the other.
func (s *snapshot) divide(d *division, from, to *cohort) {
	from.count -= len(d.flipped)
	to.count += len(d.flipped)
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
