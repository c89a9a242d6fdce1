package inventory

// A question is what is worked out once for a snapshot and a Pod: many kinds have
// the same view, taints or room.
type question struct {
	*snapshot
	placement *Placement
	handler   string

	known   []Knowledge // by view
	keeping []int16     // by taintList: the place of the taint that keeps the Pod off
	fitting []obstacle  // by room
}

const (
	notAsked  = -2
	tolerated = -1
)

func (s *snapshot) ask(p *Placement, handler string) question {
	q := question{snapshot: s, placement: p, handler: handler}
	q.known = make([]Knowledge, len(s.views))
	for i, v := range s.views {
		q.known[i] = v.knowledge(handler)
	}
	q.keeping = make([]int16, len(s.taints))
	for i := range q.keeping {
		q.keeping[i] = notAsked
	}
	q.fitting = make([]obstacle, len(s.rooms))
	for i := range q.fitting {
		q.fitting[i] = notAsked
	}
	return q
}

// obstacle returns what keeps the Pod off the nodes of a kind that it selects, and
// the taint if it is one.
func (q *question) obstacle(k *kindIn) (obstacle, *lastingTaint) {
	room := q.room(k.room)
	taint := q.untolerated(k.taints)
	switch {
	case taint == nil:
		return room, nil
	case room == tooSmall:
		return notToleratedAndTooSmall, nil
	}
	return notTolerated, taint
}

func (q *question) room(number int32) obstacle {
	if q.fitting[number] == notAsked {
		q.fitting[number] = q.placement.room(q.placement.requests, q.rooms[number])
	}
	return q.fitting[number]
}

func (q *question) untolerated(number int32) *lastingTaint {
	list := q.taints[number]
	if q.keeping[number] == notAsked {
		q.keeping[number] = int16(q.placement.untolerated(list))
	}
	if at := q.keeping[number]; at != tolerated {
		return &list[at]
	}
	return nil
}

// coverage is the answer of Index.Coverage.
func (s *snapshot) coverage(p *Placement, handler string, needs Features) Coverage {
	chosen, all := s.selects(p)
	t := tally{question: s.ask(p, handler)}
	for _, feature := range needs.Each() {
		t.features = append(t.features, featureTally{feature: feature})
	}
	if all {
		for i := range s.kinds {
			t.add(&s.kinds[i], &s.kinds[i].all)
		}
		return t.coverage()
	}
	// Of the chosen labelSets and the others the fewer are looked at.
	divisions, few := s.divisions(chosen), chosen.sets
	inverted := few.count(s.sets) > s.sets/2
	if inverted {
		few.invert()
	}
	wholes := s.choose(few, divisions)
	for i := range s.kinds {
		k, divided := &s.kinds[i], divisions[int32(i)]
		has := t.question.known[k.view] == Has
		in, out := &cohort{whole: wholes[i]}, &cohort{}
		if inverted || has || len(divided) > 0 { // or else nobody asks for the others
			out.whole = s.others(k, &in.whole, few, divided)
			s.divide(divided, few, in, out)
		}
		if inverted {
			in, out = out, in
		}
		t.add(k, in)
		if has {
			t.elsewhere.add(out)
		}
	}
	return t.coverage()
}
