package config

import (
	"errors"
	"fmt"
	"sort"

	"github.com/pelletier/go-toml/v2/unstable"
)

// This file turns TOML text into a tree whose every entry knows its line and
// column. It walks go-toml's AST by itself for two reasons: Unmarshal keeps no
// positions of what it has accepted, and its check for duplicate keys looks at
// all keys for every key (go-toml v2.4.3: 20 s for 1 MiB of distinct keys).
// It is the only file of the dump reader that touches go-toml's unstable
// package, which makes no promise of compatibility.

// maxDumpKeys bounds the tree; a whole dump has about 400 keys.
const maxDumpKeys = 500_000

type dumpKind uint8

const (
	dumpTable  dumpKind = iota // made by a [header], or on the way to one
	dumpDotted                 // made on the way of a dotted key
	dumpInline                 // { … }
	dumpTables                 // made by a [[header]]
	dumpArray                  // [ … ]
	dumpString                 // the kinds from here on are scalars
	dumpInteger
	dumpFloat
	dumpBool
	dumpTime
)

func (k dumpKind) String() string {
	return [...]string{"a table", "a table", "a table", "an array of tables", "an array",
		"a string", "an integer", "a float", "a boolean", "a date or time"}[k]
}

// A dumpPos is a place in the text; columns count bytes, as go-toml's do.
type dumpPos struct{ line, column int }

// A dumpNode is a value of the document and the place of its key (for an
// element of an array, of itself).
type dumpNode struct {
	kind     dumpKind
	explicit bool // a table that had its own header
	at       dumpPos
	text     string   // a scalar's value as written, a string's without quotes
	names    []string // of fields, in the order of the document
	fields   map[string]*dumpNode
	items    []*dumpNode // elements of an array or of an array of tables
}

func (n *dumpNode) isTable() bool { return n.kind <= dumpInline }

func (n *dumpNode) add(name string, child *dumpNode) {
	if n.fields == nil {
		n.fields = map[string]*dumpNode{}
	}
	n.fields[name] = child
	n.names = append(n.names, name)
}

// A dumpParser builds the tree of one document.
type dumpParser struct {
	name     string
	data     []byte
	newlines []int // offsets
	keys     int
	root     *dumpNode
}

// parseDumpTOML reads the whole document; name stands before the place in
// errors.
func parseDumpTOML(name string, data []byte) (*dumpNode, error) {
	d := &dumpParser{name: name, data: data, root: &dumpNode{kind: dumpTable}}
	for i, b := range data {
		if b == '\n' {
			d.newlines = append(d.newlines, i)
		}
	}
	var p unstable.Parser
	p.Reset(data)
	current := d.root
	for p.NextExpression() {
		expr := p.Expression()
		var err error
		if expr.Kind == unstable.KeyValue {
			err = d.keyValue(current, expr)
		} else {
			current, err = d.header(expr)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := p.Error(); err != nil {
		return nil, d.syntaxError(err)
	}
	return d.root, nil
}

// header finds or makes the table that a [header] or [[header]] opens. The
// rules of redefinition are those of TOML 1.0 as go-toml has them.
func (d *dumpParser) header(expr *unstable.Node) (*dumpNode, error) {
	current := d.root
	for key := expr.Key(); key.Next(); {
		part := key.Node()
		name, at := string(part.Data), d.position(int(part.Raw.Offset))
		next := current.fields[name]
		if !key.IsLast() {
			switch {
			case next == nil:
				if err := d.count(at); err != nil {
					return nil, err
				}
				next = &dumpNode{kind: dumpTable, at: at}
				current.add(name, next)
			case next.kind == dumpTables:
				next = next.items[len(next.items)-1]
			case next.kind != dumpTable && next.kind != dumpDotted:
				return nil, d.errorf(at, "key %q is already %s (line %d), so no table can stand below it", name, next.kind, next.at.line)
			}
			current = next
			continue
		}
		if err := d.count(at); err != nil {
			return nil, err
		}
		return d.open(current, name, at, expr.Kind == unstable.ArrayTable)
	}
	return current, nil
}

// open makes the last part of a header below parent.
func (d *dumpParser) open(parent *dumpNode, name string, at dumpPos, array bool) (*dumpNode, error) {
	old := parent.fields[name]
	table := &dumpNode{kind: dumpTable, at: at, explicit: true}
	switch {
	case old == nil && array:
		parent.add(name, &dumpNode{kind: dumpTables, at: at, items: []*dumpNode{table}})
	case old == nil:
		parent.add(name, table)
	case array && old.kind == dumpTables:
		old.items = append(old.items, table)
	case !array && old.kind == dumpTable && !old.explicit:
		old.explicit, old.at = true, at
		return old, nil
	case !array && old.isTable():
		return nil, d.errorf(at, "table %q is defined twice (first in line %d)", name, old.at.line)
	default:
		return nil, d.errorf(at, "key %q is already %s (line %d)", name, old.kind, old.at.line)
	}
	return table, nil
}

func (d *dumpParser) keyValue(current *dumpNode, expr *unstable.Node) error {
	for key := expr.Key(); key.Next(); {
		part := key.Node()
		name, at := string(part.Data), d.position(int(part.Raw.Offset))
		if err := d.count(at); err != nil {
			return err
		}
		next := current.fields[name]
		if key.IsLast() {
			if next != nil {
				return d.errorf(at, "key %q is defined twice (first in line %d)", name, next.at.line)
			}
			value, err := d.value(expr.Value(), at)
			if err != nil {
				return err
			}
			current.add(name, value)
			return nil
		}
		if next == nil {
			next = &dumpNode{kind: dumpDotted, at: at}
			current.add(name, next)
		} else if next.kind != dumpDotted {
			return d.errorf(at, "key %q is already %s (line %d), which a dotted key cannot extend", name, next.kind, next.at.line)
		}
		current = next
	}
	return nil
}

// value converts a value. Its depth is bounded by go-toml's own limit.
func (d *dumpParser) value(v *unstable.Node, at dumpPos) (*dumpNode, error) {
	n := &dumpNode{at: at}
	switch v.Kind {
	case unstable.InlineTable:
		n.kind = dumpInline
		for child := v.Children(); child.Next(); {
			if err := d.keyValue(n, child.Node()); err != nil {
				return nil, err
			}
		}
	case unstable.Array:
		n.kind = dumpArray
		for child := v.Children(); child.Next(); {
			at := at
			if raw := child.Node().Raw; raw.Length > 0 {
				at = d.position(int(raw.Offset))
			}
			if err := d.count(at); err != nil {
				return nil, err
			}
			item, err := d.value(child.Node(), at)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
	default:
		n.kind = scalarKind(v.Kind)
		n.text = string(v.Data)
	}
	return n, nil
}

func scalarKind(k unstable.Kind) dumpKind {
	switch k {
	case unstable.String:
		return dumpString
	case unstable.Integer:
		return dumpInteger
	case unstable.Float:
		return dumpFloat
	case unstable.Bool:
		return dumpBool
	}
	return dumpTime
}

func (d *dumpParser) count(at dumpPos) error {
	if d.keys++; d.keys > maxDumpKeys {
		return d.errorf(at, "more than %d keys and values: this is no containerd configuration", maxDumpKeys)
	}
	return nil
}

// syntaxError gives a parser's error its place.
func (d *dumpParser) syntaxError(err error) error {
	var perr *unstable.ParserError
	if !errors.As(err, &perr) {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	// The highlight is a part of the input; how much capacity is left behind
	// its start tells where it starts.
	offset := cap(d.data) - cap(perr.Highlight)
	if offset < 0 || offset > len(d.data) {
		offset = len(d.data)
	}
	return d.errorf(d.position(offset), "not valid TOML: %s", perr.Message)
}

func (d *dumpParser) position(offset int) dumpPos {
	line := sort.SearchInts(d.newlines, offset)
	start := 0
	if line > 0 {
		start = d.newlines[line-1] + 1
	}
	return dumpPos{line: line + 1, column: offset - start + 1}
}

func (d *dumpParser) errorf(at dumpPos, format string, args ...any) error {
	return posError(d.name, at, format, args...)
}

// posError writes a place the way compilers do, so that editors can jump to it.
func posError(name string, at dumpPos, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", name, at.line, at.column, fmt.Sprintf(format, args...))
}
