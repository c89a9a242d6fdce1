package inventory

import (
	"slices"
)

// A tally is a Coverage in the making: its nodes are counted kind by kind, and
// named at the end.
type tally struct {
	question question

	known                       [UnknownDown + 1]cohort
	broken, expiring, breaking  cohort
	faults                      Faults
	elsewhere, tainted, maybe   cohort
	tooSmall, settling, crowded cohort
	features                    []featureTally
	standards, loaded           []string
	united                      *view
	taint                       *lastingTaint
	several                     bool
}

type featureTally struct {
	feature             Features
	has, lacks, unknown cohort
}

// add adds nodes of a kind that the Pod selects.
func (t *tally) add(k *kindIn, nodes *cohort) {
	if nodes.count == 0 {
		return
	}
	q := &t.question
	known, v := q.known[k.view], q.views[k.view]
	obstacle, taint := q.obstacle(k)
	if obstacle == none || obstacle == notListed && known != Lacks {
		t.known[known].add(nodes)
		if known == Has {
			t.addServing(v, nodes)
			t.addReported(v, nodes)
		}
		if v != t.united { // many kinds have the same one
			t.loaded, t.united = union(t.loaded, v.loaded), v
		}
		return
	}
	if known == Has {
		t.elsewhere.add(nodes)
		if obstacle == tooSmall && q.placement.fitsBare(q.rooms[k.room]) {
			t.crowded.add(nodes)
		}
	}
	switch obstacle {
	case notTolerated:
		t.addTainted(known, taint, nodes)
		if v.young {
			t.settling.add(nodes)
		}
	case tooSmall, notListed:
		t.tooSmall.add(nodes)
	}
}

// addTainted notes nodes that only a taint keeps out. Of those that lack the
// handler nothing is noted: a toleration would not help.
func (t *tally) addTainted(known Knowledge, taint *lastingTaint, nodes *cohort) {
	switch known {
	case Lacks:
		return
	case Has:
		t.tainted.add(nodes)
	default:
		t.maybe.add(nodes)
	}
	switch {
	case t.taint == nil:
		t.taint = taint
	case taint.text != t.taint.text:
		t.several = true
		if taint.text < t.taint.text {
			t.taint = taint
		}
	}
}

// addServing notes what nodes that have the handler tell of its features.
func (t *tally) addServing(v *view, nodes *cohort) {
	if len(t.features) == 0 {
		return
	}
	told := v.tells(t.question.handler)
	for i := range t.features {
		f := &t.features[i]
		switch {
		case told.given&f.feature != 0:
			f.has.add(nodes)
		case told.told&f.feature != 0:
			f.lacks.add(nodes)
		default:
			f.unknown.add(nodes)
		}
	}
}

// addReported notes what the reporters of nodes say of a handler that they have.
func (t *tally) addReported(v *view, nodes *cohort) {
	if !v.fresh {
		return
	}
	name := t.question.handler
	if name == "" {
		name = v.standard
		t.standards = insert(t.standards, name)
	}
	if faults := v.broken[name]; faults != 0 {
		t.broken.add(nodes)
		t.faults |= faults
	}
	if v.expiring[name] {
		t.expiring.add(nodes)
	}
	if v.breaking[name] {
		t.breaking.add(nodes)
	}
}

// coverage names the nodes.
func (t *tally) coverage() Coverage {
	s := t.question.snapshot
	c := Coverage{
		Has: s.nodes(&t.known[Has]), Lacks: s.nodes(&t.known[Lacks]),
		Silent: s.nodes(&t.known[UnknownSilent]), Stale: s.nodes(&t.known[UnknownStale]), Young: s.nodes(&t.known[UnknownYoung]), Down: s.nodes(&t.known[UnknownDown]),
		Broken: s.nodes(&t.broken), Expiring: s.nodes(&t.expiring), Breaking: s.nodes(&t.breaking), Faults: t.faults,
		Standards: t.standards, Loaded: t.loaded,
		Elsewhere: s.nodes(&t.elsewhere), Tainted: s.nodes(&t.tainted), MaybeTainted: s.nodes(&t.maybe),
		SeveralTaints: t.several, TooSmall: s.nodes(&t.tooSmall), Settling: s.nodes(&t.settling), Crowded: s.nodes(&t.crowded),
	}
	if t.taint != nil {
		c.Taint = t.taint.Taint
	}
	for i := range t.features {
		f := &t.features[i]
		c.Features = append(c.Features, FeatureCoverage{Feature: f.feature, Has: s.nodes(&f.has), Lacks: s.nodes(&f.lacks), Unknown: s.nodes(&f.unknown)})
	}
	return c
}

// union adds to a sorted list, which it may change, those of another that it
// lacks.
func union(all, names []string) []string {
	if all == nil {
		return slices.Clone(names)
	}
	for _, name := range names {
		all = insert(all, name)
	}
	return all
}

// insert adds a name to a sorted list that does not have it yet.
func insert(names []string, name string) []string {
	at, found := slices.BinarySearch(names, name)
	if found {
		return names
	}
	return slices.Insert(names, at, name)
}
