package config

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// A position is a place in a file, both counted from 1.
type position struct{ line, column int }

// A mark is a table header or a key with its full path.
type mark struct {
	path []string
	at   position
	// table is set for a header, and for a key whose value is a table; header for
	// a header alone.
	table, header bool
	// text is the value of a string, number or boolean, which is scalar.
	text   string
	scalar bool
}

// An outline is where a file says what. It knows no rules: of a file that is
// not valid TOML it has what stands before the error.
type outline struct {
	marks []mark
	// imports are the places of the entries of imports.
	imports []position

	newlines []int
	data     []byte
	// groups are the marks below tables of so many keys, by table.
	groups map[int]map[string][]mark
}

// scanOutline reads where things stand. What go-toml 1 takes and go-toml 2
// does not (a byte order mark, a lone CR, comments in another encoding) is
// blanked out first, byte by byte, so that places stay right.
func scanOutline(data []byte) (o *outline) {
	o = &outline{data: blank(data)}
	for i, b := range o.data {
		if b == '\n' {
			o.newlines = append(o.newlines, i)
		}
	}
	defer func() { _ = recover() }() // an outline is help, not a verdict
	var p unstable.Parser
	p.Reset(o.data)
	var table []string
	for p.NextExpression() {
		expr := p.Expression()
		if expr.Kind == unstable.KeyValue {
			o.keyValue(table, expr, 0)
			continue
		}
		var at position
		table, at = o.path(nil, expr)
		o.marks = append(o.marks, mark{path: table, at: at, table: true, header: true})
	}
	return o
}

// blank replaces what only go-toml 1 takes.
func blank(data []byte) []byte {
	bom := bytes.HasPrefix(data, []byte("\xef\xbb\xbf"))
	if !bom && !bytes.ContainsRune(data, '\r') && utf8.Valid(data) {
		return data
	}
	data = slices.Clone(data)
	if bom {
		copy(data, "   ")
	}
	comment := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\r' && (i+1 == len(data) || data[i+1] != '\n'):
			data[i] = ' '
		case c == '\n':
			comment = false
		case c == '#':
			comment = true
		case comment && c >= utf8.RuneSelf:
			data[i] = '?'
		}
	}
	return data
}

// path is the full path of a header or key, and the place of its last part.
func (o *outline) path(prefix []string, n *unstable.Node) ([]string, position) {
	names := slices.Clone(prefix)
	var at position
	for key := n.Key(); key.Next(); {
		part := key.Node()
		if len(names) == len(prefix) {
			at = o.position(int(part.Raw.Offset))
		}
		names = append(names, string(part.Data))
	}
	return names, at
}

// maxDepth bounds the nesting of inline tables looked into.
const maxDepth = 64

func (o *outline) keyValue(table []string, n *unstable.Node, depth int) {
	names, at := o.path(table, n)
	v := n.Value()
	m := mark{path: names, at: at}
	switch v.Kind {
	case unstable.InlineTable:
		m.table = true
	case unstable.String, unstable.Integer, unstable.Bool:
		m.text, m.scalar = string(v.Data), true
	}
	o.marks = append(o.marks, m)
	switch {
	case depth > maxDepth:
	case m.table:
		for child := v.Children(); child.Next(); {
			o.keyValue(names, child.Node(), depth+1)
		}
	case v.Kind == unstable.Array && len(names) == 1 && foldEqual(names[0], "imports"):
		for child := v.Children(); child.Next(); {
			item := at
			if raw := child.Node().Raw; raw.Length > 0 {
				item = o.position(int(raw.Offset))
			}
			o.imports = append(o.imports, item)
		}
	}
}

func foldEqual(a, b string) bool { return strings.EqualFold(a, b) }

func (o *outline) position(offset int) position {
	line := sort.SearchInts(o.newlines, offset)
	start := 0
	if line > 0 {
		start = o.newlines[line-1] + 1
	}
	return position{line: line + 1, column: utf8.RuneCount(o.data[start:offset]) + 1}
}

func (o *outline) importLine(i int) int {
	if o == nil || i >= len(o.imports) {
		return 0
	}
	return o.imports[i].line
}

// find returns the first mark with exactly that path.
func (o *outline) find(path ...string) (mark, bool) {
	if o == nil {
		return mark{}, false
	}
	for _, m := range o.marks {
		if slices.Equal(m.path, path) {
			return m, true
		}
	}
	return mark{}, false
}

// below returns the first mark at or below that path.
func (o *outline) below(path ...string) (mark, bool) {
	if o == nil {
		return mark{}, false
	}
	for _, m := range o.marks {
		if len(m.path) >= len(path) && slices.Equal(m.path[:len(path)], path) {
			return m, true
		}
	}
	return mark{}, false
}

// plugins are the names of the plugins with sections, in order.
func (o *outline) plugins() []string {
	var names []string
	for _, m := range o.marks {
		if len(m.path) > 1 && foldEqual(m.path[0], "plugins") && !slices.Contains(names, m.path[1]) {
			names = append(names, m.path[1])
		}
	}
	return names
}

// under are the marks below a table. All tables of the same depth are found at once:
// a file may have very many handlers.
func (o *outline) under(table []string) []mark {
	n := len(table)
	if o.groups[n] == nil {
		groups := map[string][]mark{}
		for _, m := range o.marks {
			if len(m.path) > n {
				key := strings.Join(m.path[:n], pathSep)
				groups[key] = append(groups[key], m)
			}
		}
		if o.groups == nil {
			o.groups = map[int]map[string][]mark{}
		}
		o.groups[n] = groups
	}
	return o.groups[n][strings.Join(table, pathSep)]
}
