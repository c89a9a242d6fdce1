package config

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// newestKept is the config version that files are brought to: all of containerd
// 2.x reads it, and what version 4 moves (the addresses of servers) containerd
// moves by itself, with nothing lost.
const newestKept = 3

// A statement is a table header or a key with its value, with its text.
type statement struct {
	// lead are the comments and empty lines before it.
	lead string
	// text are its lines, with what follows on the last one.
	text string
	// header and array tell [a] and [[a]] from keys.
	header, array bool
	// table is the path of the table that a key stands in.
	table []string
	// path is the full path.
	path []string
	// parts are where in text the parts of its own key stand.
	parts [][2]int
	// value is the text of a string, number or boolean.
	value string
	// scalar is set when value is all there is to the value.
	scalar bool
	// below are the full paths of what an inline table holds.
	below [][]string
	// strings are where in text the strings of an array stand.
	strings [][2]int
}

// own are the parts of the key as written in the file.
func (s *statement) own() []string { return s.path[len(s.path)-len(s.parts):] }

// A draft is a file as a list of statements.
type draft struct {
	statements []*statement
	// tail is what follows the last one.
	tail string
	eol  string
}

// readDraft reads a file for editing: everything in it is kept as text.
func readDraft(data []byte) (*draft, error) {
	text := strings.TrimPrefix(string(data), "\xef\xbb\xbf")
	if toml.Unmarshal([]byte(text), &map[string]any{}) != nil {
		// 1.x takes comments in other encodings, and a lone CR for white space.
		text = string(blank([]byte(text)))
	}
	if err := toml.Unmarshal([]byte(text), &map[string]any{}); err != nil {
		return nil, fmt.Errorf("not the TOML that containerd 2.x reads: %w", err)
	}
	d := &draft{eol: "\n"}
	if strings.Contains(text, "\r\n") {
		d.eol = "\r\n"
	}
	found, starts := statementsOf(text)
	at := 0
	for i, st := range found {
		end := len(text)
		if i+1 < len(found) {
			end = starts[i+1]
		}
		st.lead = text[at:starts[i]]
		length := lengthOf(st, text[starts[i]:end])
		if length < 0 {
			return nil, fmt.Errorf("cannot tell where %s ends", strings.Join(st.path, "."))
		}
		at = starts[i] + length
		st.text = text[starts[i]:at]
		d.statements = append(d.statements, st)
	}
	d.tail = text[at:]
	return d, nil
}

// statementsOf finds the statements and the offsets of their first lines.
func statementsOf(text string) (found []*statement, starts []int) {
	var p unstable.Parser
	p.Reset([]byte(text))
	var table []string
	for p.NextExpression() {
		expr := p.Expression()
		st := &statement{header: expr.Kind != unstable.KeyValue, array: expr.Kind == unstable.ArrayTable}
		var names []string
		start := -1
		for key := expr.Key(); key.Next(); {
			raw := key.Node().Raw
			if start < 0 {
				start = strings.LastIndexByte(text[:raw.Offset], '\n') + 1
			}
			names = append(names, string(key.Node().Data))
			st.parts = append(st.parts, [2]int{int(raw.Offset) - start, int(raw.Offset+raw.Length) - start})
		}
		if st.header {
			table, st.path = names, names
		} else {
			st.table, st.path = table, append(slices.Clone(table), names...)
			st.take(expr.Value(), start)
		}
		found, starts = append(found, st), append(starts, start)
	}
	return found, starts
}

// take notes what there is to know of a value.
func (s *statement) take(v *unstable.Node, start int) {
	switch v.Kind {
	case unstable.String, unstable.Integer, unstable.Bool, unstable.Float:
		s.value, s.scalar = string(v.Data), true
		s.strings = [][2]int{{int(v.Raw.Offset) - start, int(v.Raw.Offset+v.Raw.Length) - start}}
	case unstable.Array:
		for child := v.Children(); child.Next(); {
			if raw := child.Node().Raw; child.Node().Kind == unstable.String {
				s.strings = append(s.strings, [2]int{int(raw.Offset) - start, int(raw.Offset+raw.Length) - start})
			}
		}
	case unstable.InlineTable:
		s.below = belowOf(s.path, v, 0)
	}
}

func belowOf(path []string, v *unstable.Node, depth int) (paths [][]string) {
	if v.Kind != unstable.InlineTable || depth > maxDepth {
		return [][]string{path}
	}
	for child := v.Children(); child.Next(); {
		inner := slices.Clone(path)
		for key := child.Node().Key(); key.Next(); {
			inner = append(inner, string(key.Node().Data))
		}
		paths = append(paths, belowOf(inner, child.Node().Value(), depth+1)...)
	}
	return paths
}

// lengthOf returns how much of a text is the statement that it starts with: the
// fewest lines that are TOML; -1 when there are none. What follows it are comments
// and empty lines, with which it stays TOML.
func lengthOf(s *statement, text string) int {
	var ends []int
	for line := range strings.Lines(text) {
		end := len(line)
		if len(ends) > 0 {
			end += ends[len(ends)-1]
		}
		ends = append(ends, end)
	}
	if len(ends) == 0 {
		return -1
	}
	isWhole := func(i int) bool { return toml.Unmarshal([]byte(text[:ends[i]]), &map[string]any{}) == nil }
	if s.header || isWhole(0) {
		return ends[0]
	}
	i := sort.Search(len(ends), isWhole)
	if i == len(ends) {
		return -1
	}
	return ends[i]
}

// rekey writes the statement with another key; parts that stay keep their text.
func (s *statement) rekey(names []string) string {
	own := s.own()
	raws := map[string]string{}
	for i, name := range own {
		raws[name] = s.text[s.parts[i][0]:s.parts[i][1]]
	}
	quote := byte('"')
	for _, raw := range raws {
		if raw != "" && raw[0] == '\'' {
			quote = '\''
		}
	}
	var parts []string
	for _, name := range names {
		raw, ok := raws[name]
		if !ok {
			if raw = quoteKey(name); raw[0] == '"' && quote == '\'' && !strings.ContainsAny(name, "'\\\n") {
				raw = "'" + name + "'"
			}
		}
		parts = append(parts, raw)
	}
	return s.text[:s.parts[0][0]] + strings.Join(parts, ".") + s.text[s.parts[len(s.parts)-1][1]:]
}

// revalue writes a statement with a scalar value with another one.
func (s *statement) revalue(value string) string {
	at := s.strings[0]
	return s.text[:at[0]] + value + s.text[at[1]:]
}

// indent is the white space before a statement.
func (s *statement) indent() string {
	return s.text[:len(s.text)-len(strings.TrimLeft(s.text, " \t"))]
}
