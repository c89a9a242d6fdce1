package inventory

import (
	"iter"
	"math/bits"
)

// A bitmap is a set of small numbers, a bit for each. Bits above the numbers in
// use mean nothing.
type bitmap []uint64

// newBitmap returns an empty set of numbers below size.
func newBitmap(size int) bitmap { return make(bitmap, (size+63)/64) }

func (b bitmap) has(i int32) bool { return b[i>>6]>>(i&63)&1 != 0 }

func (b bitmap) add(i int32) { b[i>>6] |= 1 << (i & 63) }

// each goes over the numbers below size.
func (b bitmap) each(size int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for word, set := range b {
			for ; set != 0; set &= set - 1 {
				if i := word<<6 | bits.TrailingZeros64(set); i >= size || !yield(i) {
					return
				}
			}
		}
	}
}

// count is how many numbers below size there are.
func (b bitmap) count(size int) (n int) {
	for i, set := range b {
		if left := size - i<<6; left < 64 {
			set &= 1<<left - 1
		}
		n += bits.OnesCount64(set)
	}
	return n
}

// and keeps what other has too.
func (b bitmap) and(other bitmap) {
	for i := range b {
		b[i] &= other[i]
	}
}

func (b bitmap) or(other bitmap) {
	for i := range b {
		b[i] |= other[i]
	}
}

func (b bitmap) invert() {
	for i := range b {
		b[i] = ^b[i]
	}
}

// A compact is a set of small numbers that takes no more room than its numbers
// need: a cluster may have as many values of a label as it has nodes.
type compact struct {
	bits bitmap
	list []int32 // in place of bits if that is shorter
}

// newCompact makes a set of numbers below size.
func newCompact(numbers []int32, size int) compact {
	if len(numbers) < size/32 {
		return compact{list: numbers}
	}
	set := compact{bits: newBitmap(size)}
	for _, i := range numbers {
		set.bits.add(i)
	}
	return set
}

// addTo adds the numbers to a bitmap.
func (c compact) addTo(b bitmap) {
	if c.bits != nil {
		b.or(c.bits)
	}
	for _, i := range c.list {
		b.add(i)
	}
}
