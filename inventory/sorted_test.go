package inventory

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A list that is changed is as one that is made anew, and leaves the one before as
// it was.
func TestSortedChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 0))
	compare := func(a, b int) int { return a - b }
	var list sorted[int]
	has := map[int]bool{}
	for step := range 300 {
		before, flat := list, slices.Collect(list.each())
		var gone, added []int
		// Now few change, now many; it grows, and shrinks to nothing.
		for range 1 + r.IntN(pick(r, 5, 50, 3000)) {
			n := r.IntN(5000)
			switch listed := slices.Contains(flat, n); {
			case slices.Contains(gone, n) || slices.Contains(added, n):
			case listed && r.IntN(10) == 0: // goes, and comes again
				gone, added = append(gone, n), append(added, n)
			case listed && step%100 > 50:
				gone = append(gone, n)
				delete(has, n)
			case !listed && step%100 <= 50:
				added = append(added, n)
				has[n] = true
			}
		}
		if step%100 == 99 {
			gone, added = slices.Clone(flat), nil
			clear(has)
		}
		list = list.changed(gone, added, compare)
		var want []int
		for n := range has {
			want = append(want, n)
		}
		slices.Sort(want)
		if got := slices.Collect(list.each()); !slices.Equal(got, want) {
			t.Fatalf("step %d: %v without %v and with %v: %v, want %v", step, flat, gone, added, got, want)
		}
		if !slices.Equal(slices.Collect(before.each()), flat) {
			t.Fatalf("step %d: the list before has changed", step)
		}
		if list.count() != len(want) {
			t.Errorf("%d entries, want %d", list.count(), len(want))
		}
		for i, chunk := range list {
			if len(chunk) == 0 || len(chunk) > 2*chunkSize || i > 0 && len(chunk)+len(list[i-1]) <= chunkSize/2 {
				t.Fatalf("step %d: chunk %d of %d has %d entries", step, i, len(list), len(chunk))
			}
		}
		n := r.IntN(5001)
		chunk, at := find(list, n, compare)
		place, _ := slices.BinarySearch(want, n)
		if got := sorted[int](list[:chunk]).count() + at; got != place {
			t.Errorf("%d is at %d, want %d", n, got, place)
		}
	}
}

// Most of a long list is that of the list before.
func TestSortedShares(t *testing.T) {
	compare := func(a, b int) int { return a - b }
	all := make([]int, 100*chunkSize)
	for i := range all {
		all[i] = 2 * i
	}
	before := sorted[int](nil).changed(nil, all, compare)
	after := before.changed([]int{0}, []int{chunkSize, 1 + 50*chunkSize}, compare)
	same := 0
	for i := range after {
		if &before[i][0] == &after[i][0] {
			same++
		}
	}
	if same != len(before)-2 {
		t.Errorf("%d of %d chunks are the same, want all but 2", same, len(before))
	}
}

// A list of pages that a snapshot has stays as it is.
func TestPagesShared(t *testing.T) {
	var p pages[int]
	for i := range 3*pageSize + 1 {
		p.add(i)
	}
	first := p.share()
	p.set(0, -1)
	p.set(1, -1)
	p.add(-1)
	second := p.share()
	p.set(0, -2)
	p.add(-2)
	for i, want := range map[int32][3]int{0: {0, -1, -2}, 1: {1, -1, -1}, pageSize: {pageSize, pageSize, pageSize}} {
		if got := [3]int{*first.at(i), *second.at(i), *p.at(i)}; got != want {
			t.Errorf("%d: %v, want %v", i, got, want)
		}
	}
	if first.size != 3*pageSize+1 || second.size != 3*pageSize+2 || p.size != 3*pageSize+3 {
		t.Errorf("sizes: %d, %d, %d", first.size, second.size, p.size)
	}
	if first.all[1] != p.all[1] || first.all[0] == second.all[0] {
		t.Error("a page is copied when it changes, and no other")
	}
}
