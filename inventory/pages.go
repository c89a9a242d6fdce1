package inventory

import "slices"

// pageSize is how many entries are copied when one of them changes.
const pageSize = 64

// A place is what there is of a slot: the name of the node, and the number of its
// group.
type place struct {
	name  string
	group int32
}

// A pages is a list of which snapshots share the pages that have not changed since:
// there are as many entries as nodes, and a few of them change at a time.
type pages[T any] struct {
	all []*[pageSize]T
	// own says which pages no snapshot has.
	own  []bool
	size int32
}

// at returns an entry, to be read only.
func (p *pages[T]) at(i int32) *T { return &p.all[uint32(i)/pageSize][uint32(i)%pageSize] }

// set changes an entry.
func (p *pages[T]) set(i int32, entry T) {
	page := i / pageSize
	if !p.own[page] {
		own := *p.all[page]
		p.all[page], p.own[page] = &own, true
	}
	p.all[page][i%pageSize] = entry
}

// add adds an entry at the end.
func (p *pages[T]) add(entry T) {
	if p.size%pageSize == 0 {
		p.all, p.own = append(p.all, new([pageSize]T)), append(p.own, true)
	}
	p.size++
	p.set(p.size-1, entry)
}

// share returns the list as it is, for a snapshot.
func (p *pages[T]) share() pages[T] {
	clear(p.own)
	return pages[T]{all: slices.Clone(p.all), size: p.size}
}
