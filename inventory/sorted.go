package inventory

import (
	"iter"
	"slices"
)

// chunkSize is about how many entries are copied when one comes or goes.
const chunkSize = 256

// A sorted is a list in order, in chunks, none of which is empty. It is never
// changed, since snapshots have it: there may be as many entries as nodes, and a few
// come and go at a time, so that most chunks are those of the list before.
type sorted[T any] [][]T

// count is how many entries there are.
func (s sorted[T]) count() (n int) {
	for _, chunk := range s {
		n += len(chunk)
	}
	return n
}

// each goes over the entries.
func (s sorted[T]) each() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, chunk := range s {
			for i := range chunk {
				if !yield(chunk[i]) {
					return
				}
			}
		}
	}
}

// find returns the place of the first entry that is not before what is looked for:
// its chunk, which may be the one after the last, and where in that.
func find[T, V any](s sorted[T], what V, compare func(T, V) int) (chunk, at int) {
	chunk, _ = slices.BinarySearchFunc(s, what, func(chunk []T, what V) int { return compare(chunk[len(chunk)-1], what) })
	if chunk < len(s) {
		at, _ = slices.BinarySearchFunc(s[chunk], what, compare)
	}
	return chunk, at
}

// changed returns the list without what is gone, all of which is in it, and with
// what is new. It sorts both.
func (s sorted[T]) changed(gone, added []T, compare func(a, b T) int) sorted[T] {
	slices.SortFunc(gone, compare)
	slices.SortFunc(added, compare)
	if len(s) == 0 {
		s = sorted[T]{nil}
	}
	changed := make(sorted[T], 0, len(s)+len(added)/chunkSize+1)
	for i, chunk := range s {
		g, a := len(gone), len(added)
		if i+1 < len(s) {
			last := chunk[len(chunk)-1]
			g, a = upTo(gone, last, compare), upTo(added, last, compare)
		}
		if g+a > 0 {
			chunk = merge(chunk, gone[:g], added[:a], compare)
			gone, added = gone[g:], added[a:]
		}
		changed = changed.with(chunk)
	}
	return slices.Clip(changed)
}

// with adds a chunk, in pieces if it is long, and to the last one if both are short.
func (s sorted[T]) with(chunk []T) sorted[T] {
	last := len(s) - 1
	switch {
	case len(chunk) == 0:
		return s
	case last >= 0 && len(s[last])+len(chunk) <= chunkSize/2:
		s[last] = slices.Concat(s[last], chunk)
		return s
	case len(chunk) <= 2*chunkSize:
		return append(s, chunk)
	}
	// Pieces of their own memory: one must not keep that of all of them.
	pieces := (len(chunk) + chunkSize - 1) / chunkSize
	for piece := range slices.Chunk(chunk, (len(chunk)+pieces-1)/pieces) {
		s = append(s, slices.Clone(piece))
	}
	return s
}

// upTo is how many entries of a sorted list are not after the last one.
func upTo[T any](list []T, last T, compare func(a, b T) int) (n int) {
	for n < len(list) && compare(list[n], last) <= 0 {
		n++
	}
	return n
}

// merge returns a list without what is gone and with what is new, all of them
// sorted. What goes and comes again is in both.
func merge[T any](all, gone, added []T, compare func(a, b T) int) []T {
	merged := make([]T, 0, len(all)-len(gone)+len(added))
	for len(gone)+len(added) > 0 {
		if len(added) == 0 || len(gone) > 0 && compare(gone[0], added[0]) <= 0 {
			at, _ := slices.BinarySearchFunc(all, gone[0], compare)
			merged, all, gone = append(merged, all[:at]...), all[at+1:], gone[1:]
			continue
		}
		at, _ := slices.BinarySearchFunc(all, added[0], compare)
		merged, all = append(merged, all[:at]...), all[at:]
		merged, added = append(merged, added[0]), added[1:]
	}
	return append(merged, all...)
}
