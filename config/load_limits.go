package config

import (
	"fmt"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// The limits of one file. What the TOML libraries do is quadratic in the keys
// of a table, and recursive in brackets and in the parts of a key.
const (
	maxTokens   = 20_000
	maxLineDots = 10_000
	maxKeyParts = 200
)

func checkSize(data []byte) error {
	tokens, dots := 0, 0
	for _, c := range data {
		switch c {
		case '=', '[', '{':
			tokens++
		case '.':
			dots++
		case '\n':
			dots = 0
		}
		if tokens > maxTokens {
			return fmt.Errorf("%w: more than %d keys and tables", hostfs.ErrRefused, maxTokens)
		}
		if dots > maxLineDots {
			return fmt.Errorf("%w: a line with more than %d dots", hostfs.ErrRefused, maxLineDots)
		}
	}
	return nil
}
