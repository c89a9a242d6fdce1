package webhook

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strings"
)

// A scanner reads a JSON document once from its start to its end. It takes what
// encoding/json takes, and to the same, or it is bad at the end. It is for the
// few fields of large documents: a library that decodes into structs takes three
// times as long to pass over the others, most of it to tell names apart.
type scanner struct {
	data []byte
	at   int
	deep int
	// bad: it is no JSON, or not such as is understood here.
	bad bool
	// texts are some that were read before: most are the same in each review.
	texts [128]string
}

// start begins with a document.
func (s *scanner) start(data []byte) { s.data, s.at, s.deep, s.bad = data, 0, 0, false }

// end says whether the whole document was read, and understood.
func (s *scanner) end() bool { return s.peek() == 0 && s.at == len(s.data) && !s.bad }

// peek returns the first byte of what comes next, 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// null reads null, if it comes next.
func (s *scanner) null() bool {
	if s.peek() != 'n' {
		return false
	}
	s.literal("null")
	return true
}

func (s *scanner) literal(text string) {
	if string(s.data[s.at:min(s.at+len(text), len(s.data))]) != text {
		s.bad = true
		return
	}
	s.at += len(text)
}

// object calls member for each of the names in an object, to read the value, and
// passes over all other members. null has none.
//
// encoding/json also takes a name in other letters, and the last of several: both
// are bad here.
func (s *scanner) object(names []string, member func(name string)) {
	if s.null() {
		return
	}
	var seen uint64
	s.open('{')
	for first := true; s.more('}', first); first = false {
		field := s.name(names)
		switch {
		case s.bad:
		case field < 0:
			s.skip()
		case seen>>field&1 != 0:
			s.bad = true
		default:
			seen |= 1 << field
			member(names[field])
		}
	}
}

// array calls element for each element of an array, to read it. null has none.
func (s *scanner) array(element func()) {
	if s.null() {
		return
	}
	s.open('[')
	for first := true; s.more(']', first); first = false {
		element()
	}
}

// maxDepth is that of encoding/json.
const maxDepth = 10000

func (s *scanner) open(c byte) {
	if s.deep++; s.peek() != c || s.deep > maxDepth {
		s.bad = true
		return
	}
	s.at++
}

// more says whether an object or array goes on.
func (s *scanner) more(end byte, first bool) bool {
	if s.bad {
		return false
	}
	switch c := s.peek(); {
	case c == end:
		s.at++
		s.deep--
		return false
	case first:
		return true
	case c != ',':
		s.bad = true
		return false
	}
	s.at++
	// Neither ends with a comma.
	s.bad = s.peek() == end
	return !s.bad
}

// name reads a name and the colon, and returns its place among names, -1 if it is
// none of them.
func (s *scanner) name(names []string) int {
	quoted, plain := s.quoted()
	if s.bad {
		return -1
	}
	if s.peek() != ':' {
		s.bad = true
		return -1
	}
	s.at++
	for i, name := range names {
		if name == string(quoted) {
			return i
		}
	}
	for _, name := range names {
		if !plain || len(name) == len(quoted) && strings.EqualFold(name, string(quoted)) {
			s.bad = true
		}
	}
	return -1
}

// quoted reads a string, and returns what is between its quotes. It is plain if it
// stands for itself: it has no escapes, and ASCII only.
func (s *scanner) quoted() (content []byte, plain bool) {
	if s.peek() != '"' {
		s.bad = true
		return nil, false
	}
	data, start, at := s.data, s.at+1, s.at+1
	plain = true
	for {
		at += ordinary(data[at:])
		switch {
		case at == len(data) || data[at] < ' ':
			s.bad = true
			return nil, false
		case data[at] == '"':
			s.at = at + 1
			return data[start:at], plain
		case data[at] == '\\':
			if at = s.escape(at); s.bad {
				return nil, false
			}
		default: // a character of several bytes
			at++
		}
		plain = false
	}
}

// ordinary returns how many bytes a string begins with that just stand for
// themselves. It looks at eight at a time: the first of them that is below a space,
// a quote, a backslash or no ASCII sets the highest bit of its byte.
func ordinary(data []byte) int {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	at := 0
	for ; at+8 <= len(data); at += 8 {
		x := binary.LittleEndian.Uint64(data[at:])
		if found := (x | (x - ' '*each) | (x ^ '"'*each - each) | (x ^ '\\'*each - each)) & highest; found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(data) {
		if c := data[at]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			break
		}
		at++
	}
	return at
}

// escape checks an escape in a string, and returns where it ends.
func (s *scanner) escape(at int) int {
	escape := s.data[at+1:]
	switch {
	case len(escape) == 0:
	case strings.IndexByte(`"\/bfnrt`, escape[0]) >= 0:
		return at + 2
	case escape[0] == 'u' && len(escape) > 4 && strings.Trim(string(escape[1:5]), "0123456789abcdefABCDEF") == "":
		return at + 6
	}
	s.bad = true
	return at
}

// text reads a string; null is an empty one.
func (s *scanner) text() string {
	if s.null() {
		return ""
	}
	start := s.at
	content, plain := s.quoted()
	switch {
	case s.bad || len(content) == 0:
		return ""
	case !plain:
		var text string
		s.bad = json.Unmarshal(s.data[start:s.at], &text) != nil
		return text
	case len(content) > 64:
		return string(content)
	}
	known := &s.texts[(len(content)*31+int(content[0])*7+int(content[len(content)-1])*3+int(content[len(content)/2]))%len(s.texts)]
	if *known != string(content) {
		*known = string(content)
	}
	return *known
}

// truth reads a bool; null is false.
func (s *scanner) truth() bool {
	switch s.peek() {
	case 't':
		s.literal("true")
		return !s.bad
	case 'f':
		s.literal("false")
	default:
		s.bad = !s.null() || s.bad
	}
	return false
}

// raw passes over a value and returns it.
func (s *scanner) raw() []byte {
	s.peek()
	start := s.at
	s.skip()
	return s.data[start:min(s.at, len(s.data))]
}

// other reads a value with encoding/json.
func (s *scanner) other(into any) {
	if raw := s.raw(); !s.bad {
		s.bad = json.Unmarshal(raw, into) != nil
	}
}

// skip passes over a value.
func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '{':
		s.open('{')
		for first := true; s.more('}', first); first = false {
			if s.name(nil); !s.bad {
				s.skip()
			}
		}
	case '[':
		s.array(s.skip)
	case '"':
		s.quoted()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

// number passes over a number. Nearly all are whole.
func (s *scanner) number() {
	start, whole := s.at, true
	for s.at < len(s.data) && strings.IndexByte("+-.0123456789eE", s.data[s.at]) >= 0 {
		whole = whole && s.data[s.at] >= '0' && s.data[s.at] <= '9'
		s.at++
	}
	number := s.data[start:s.at]
	if !whole || len(number) == 0 || number[0] == '0' {
		s.bad = s.bad || !json.Valid(number)
	}
}
