package inventory

// A bitmap is a set of small numbers, a bit for each. Bits above the numbers in
// use mean nothing.
type bitmap []uint64

// newBitmap returns an empty set of numbers below size.
func newBitmap(size int) bitmap { return make(bitmap, (size+63)/64) }

func (b bitmap) has(i int32) bool { return b.bit(i) != 0 }

func (b bitmap) bit(i int32) int { return int(b[i>>6] >> (i & 63) & 1) }

func (b bitmap) add(i int32) { b[i>>6] |= 1 << (i & 63) }

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
