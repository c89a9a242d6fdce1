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

// addShare adds a group, one of a higher rank than those before.
func (c *cohort) addShare(part *share) {
	c.count += int(part.count)
	if c.ranked < SampleSize {
		c.ranks[c.ranked] = part.rank
		c.ranked++
	}
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
	n.Sample = make([]string, 0, SampleSize+1)
	for _, rank := range c.ranks[:c.ranked] {
		members := s.groups[s.ranked[rank]].members
		for _, slot := range members[:min(len(members), SampleSize)] {
			n.name(s.names[slot])
		}
	}
	for _, name := range c.names {
		n.name(name)
	}
	return n
}

// A split says which nodes of a group are not on the side of the others.
type split map[int32][]int32 // by number of the group, in the order of slots

// splitBy sorts the nodes that a selection flips by their groups.
func (s *snapshot) splitBy(chosen selected) split {
	if len(chosen.flipped) == 0 {
		return nil
	}
	parts := split{}
	for _, slot := range chosen.flipped {
		number := s.groupOf[slot]
		parts[number] = append(parts[number], slot)
	}
	return parts
}

// divide adds a group to one cohort, but for the nodes to another.
func (s *snapshot) divide(part *share, to, other *cohort, flipped []int32) {
	to.count += int(part.count) - len(flipped)
	other.count += len(flipped)
	left := SampleSize
	for _, slot := range s.groups[part.number].members {
		if left == 0 {
			break
		}
		if _, ok := slices.BinarySearch(flipped, slot); !ok {
			to.names = append(to.names, s.names[slot])
			left--
		}
	}
	var first Nodes
	for _, slot := range flipped {
		first.name(s.names[slot])
	}
	other.names = append(other.names, first.Sample...)
}

// choose divides a kind into the nodes that are chosen and the others.
func (s *snapshot) choose(k *kindIn, sets bitmap, parts split) (chosen, others cohort) {
	for i := range k.groups {
		part := &k.groups[i]
		to, other := &others, &chosen
		if sets.has(part.labels) {
			to, other = other, to
		}
		if flipped := parts[part.number]; len(flipped) > 0 {
			s.divide(part, to, other, flipped)
		} else {
			to.addShare(part)
		}
	}
	return chosen, others
}
