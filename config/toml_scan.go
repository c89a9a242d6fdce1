package config

import "errors"

// errTOML11 is for what TOML 1.1 allows and go-toml before 2.4 does not.
var errTOML11 = errors.New("toml: this needs TOML 1.1: an inline table in several lines or with a comma at its end, or the escape \\x")

// checkTOML10 finds what only TOML 1.1 allows. It goes through the text of a
// document without reading it; what is no TOML at all is left to others.
func checkTOML10(data []byte) error {
	var open []byte // brackets
	comma := false  // the last token was a comma
	for i := 0; i < len(data); i++ {
		c := data[i]
		inline := len(open) > 0 && open[len(open)-1] == '{'
		switch c {
		case ' ', '\t', '\r':
			continue
		case '\n':
			if inline {
				return errTOML11
			}
			continue
		case '#':
			if inline {
				return errTOML11
			}
			for i+1 < len(data) && data[i+1] != '\n' {
				i++
			}
			continue
		case '"', '\'':
			end, ok := skipString(data, i)
			if !ok {
				return errTOML11
			}
			i = end
		case '{', '[':
			if c == '{' || len(open) > 0 || valueFollows(data, i) {
				open = append(open, c)
			}
		case '}', ']':
			if c == '}' && inline && comma {
				return errTOML11
			}
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
		comma = c == ','
	}
	return nil
}

// valueFollows tells whether the bracket at i starts an array, not a header.
func valueFollows(data []byte, i int) bool {
	for i--; i >= 0; i-- {
		switch data[i] {
		case ' ', '\t':
		case '=':
			return true
		default:
			return false
		}
	}
	return false
}

// skipString returns where the string that starts at i ends; false when it has
// the escape \x.
func skipString(data []byte, i int) (int, bool) {
	q := data[i]
	long := i+2 < len(data) && data[i+1] == q && data[i+2] == q
	if long {
		i += 2
	}
	for i++; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\\' && q == '"':
			if i++; i < len(data) && data[i] == 'x' {
				return i, false
			}
		case c == q && !long:
			return i, true
		case c == q && i+2 < len(data) && data[i+1] == q && data[i+2] == q:
			for i+3 < len(data) && data[i+3] == q {
				i++
			}
			return i + 2, true
		case c == '\n' && !long:
			return i, true
		}
	}
	return i, true
}
