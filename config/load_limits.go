package config

import (
	"fmt"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// maxTokens bounds the keys and brackets of one file: what the TOML libraries
// do is quadratic in the keys of a table, and recursive in brackets.
const maxTokens = 20_000

func checkSize(data []byte) error {
	n := 0
	for _, c := range data {
		if c == '=' || c == '[' || c == '{' {
			n++
		}
	}
	if n > maxTokens {
		return fmt.Errorf("%w: more than %d keys and tables", hostfs.ErrRefused, maxTokens)
	}
	return nil
}
