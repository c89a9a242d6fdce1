package inventory

// A pool holds one of each value in use, so that what is equal of many nodes is
// kept once, and is equal when the pointers are.
type pool[T any] map[string]*pooled[T]

// A pooled is a value of a pool.
type pooled[T any] struct {
	of T
	// key is what tells the value from others.
	key string
	// uses is how many nodes have it.
	uses int
	// number is its place in the snapshot that is being built.
	number int32
}

// take returns the value of a key for one more node, and makes it if need be.
func (p pool[T]) take(key []byte, value func() T) *pooled[T] {
	found, ok := p[string(key)]
	if !ok {
		found = &pooled[T]{of: value(), key: string(key)}
		p[found.key] = found
	}
	found.uses++
	return found
}

// leave says that a node no longer has a value.
func (p pool[T]) leave(value *pooled[T]) {
	if value == nil {
		return
	}
	value.uses--
	if value.uses == 0 {
		delete(p, value.key)
	}
}

// A signature is written of all that makes a value what it is; equal signatures
// are of equal values.
type signature []byte

// text adds a text of any bytes.
func (s signature) text(text string) signature {
	return append(s.number(int64(len(text))), text...)
}

func (s signature) number(n int64) signature {
	for n < 0 || n > 127 {
		s = append(s, byte(n)|128)
		n = int64(uint64(n) >> 7)
	}
	return append(s, byte(n))
}

func (s signature) flag(set bool) signature {
	if set {
		return append(s, 1)
	}
	return append(s, 0)
}

// option adds what is true, false, or not told.
func (s signature) option(told *bool) signature {
	return s.flag(told != nil).flag(told != nil && *told)
}
