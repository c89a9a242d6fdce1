package webhook

import (
	"bytes"
	"testing"
)

// TestOrdinary has each byte at each place of texts that are looked at in one step,
// in several, and byte by byte.
func TestOrdinary(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 9, 16, 21} {
		for _, around := range []byte{' ', 'a', '~', 0x7f} {
			for place := range size {
				for c := range 256 {
					text := bytes.Repeat([]byte{around}, size)
					text[place] = byte(c)
					want := size
					if c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
						want = place
					}
					if got := ordinary(text); got != want {
						t.Fatalf("%q: got %d, want %d", text, got, want)
					}
				}
			}
		}
	}
}
