package config

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// containerd 2.0 to 2.3 link go-toml 2.2 and 2.3.0, this module a later one
// that was written anew (2.4). The two disagree in a few places, and there the
// older one is imitated:
//
//   - a dotted key may extend a table that only a longer header made,
//   - inline tables in several lines or with a comma at the end, and the
//     escape \x, which came with TOML 1.1, are errors,
//   - a header that ends at a field which is no table is nothing, and one that
//     goes on below such a field crashes,
//   - up to 2.2 a date in a field that is none crashes.
//
// One difference is left: the older library takes a malformed number (1e, .5)
// below a key that containerd does not know.

// hasOldTOML says whether rt links the older library.
func (r Runtime) hasOldTOML() bool { return r.class() == classB || r.class() == classC }

// crashOnDate turns the error for a date of a wrong type into the crash that it
// is to go-toml 2.2.
func crashOnDate(rt Runtime, err error) error {
	if err == nil || rt.class() != classB {
		return err
	}
	for _, kind := range []string{"datetime", "local date", "local time", "local datetime"} {
		if strings.Contains(err.Error(), "cannot decode TOML "+kind+" into") {
			return crash(fmt.Errorf("containerd crashes (a Go panic) while it reads this: %w", err))
		}
	}
	return err
}

// An oldKind is what the older library remembers of a key.
type oldKind uint8

const (
	oldTable oldKind = iota
	oldValue
	oldArray
)

// An oldNode is a key of a document, and the table that is written for it.
type oldNode struct {
	kind oldKind
	// explicit: it has had its own header. dotted: a dotted key made it.
	explicit, dotted bool
	// byKey: a dotted key made it, also after its table has ended.
	byKey    bool
	children map[string]*oldNode
	order    []string
	// raw is the text of a value.
	raw []byte
	// items are the elements of an array of tables, the last one open.
	items []*oldNode
}

func (n *oldNode) child(name string) *oldNode {
	if n.kind == oldArray && len(n.items) > 0 {
		n = n.items[len(n.items)-1]
	}
	return n.children[name]
}

func (n *oldNode) add(name string, c *oldNode) *oldNode {
	if n.kind == oldArray && len(n.items) > 0 {
		n = n.items[len(n.items)-1]
	}
	if n.children == nil {
		n.children = map[string]*oldNode{}
	}
	n.children[name] = c
	n.order = append(n.order, name)
	return c
}

// readOld checks a document as the older library does. It returns nothing for
// one that the parser refuses: that is left to the decoder.
func readOld(data []byte, t reflect.Type) (*oldNode, error) {
	if err := checkTOML10(data); err != nil {
		return nil, err
	}
	root := &oldNode{}
	current := root
	// Below a header that containerd does not know the older library takes no
	// notice of keys, not even of ones that are defined twice.
	skip := false
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		expr := p.Expression()
		var err error
		switch {
		case expr.Kind != unstable.KeyValue:
			current.close()
			current, err = root.header(expr)
			skip = !knownTable(t, keyNames(expr))
		case !skip:
			err = current.keyValue(expr, p.Raw(expr.Raw))
		}
		if err != nil {
			return nil, err
		}
	}
	if p.Error() != nil {
		return nil, nil
	}
	return root, nil
}

// close ends the table: what dotted keys made in it can't be extended any more.
func (n *oldNode) close() {
	for _, c := range n.children {
		if c.dotted {
			c.explicit, c.dotted = true, false
		}
		c.close()
	}
	for _, item := range n.items {
		item.close()
	}
}

func keyNames(n *unstable.Node) []string {
	var names []string
	for key := n.Key(); key.Next(); {
		names = append(names, string(key.Node().Data))
	}
	return names
}

// errKeyParts refuses keys that would take long to write out.
var errKeyParts = fmt.Errorf("%w: a key of more than %d parts", hostfs.ErrRefused, maxKeyParts)

func (n *oldNode) header(expr *unstable.Node) (*oldNode, error) {
	names := keyNames(expr)
	if len(names) > maxKeyParts {
		return nil, errKeyParts
	}
	last := len(names) - 1
	for _, name := range names[:last] {
		c := n.child(name)
		if c == nil {
			c = n.add(name, &oldNode{})
		} else if c.kind == oldValue {
			return nil, fmt.Errorf("toml: expected %s to be a table, not a value", name)
		}
		n = c
	}
	name := names[last]
	c := n.child(name)
	array := expr.Kind == unstable.ArrayTable
	switch {
	case c == nil && array:
		c = n.add(name, &oldNode{kind: oldArray, explicit: true})
	case c == nil:
		return n.add(name, &oldNode{explicit: true}), nil
	case array && c.kind != oldArray, !array && c.kind != oldTable:
		return nil, fmt.Errorf("toml: key %s is already there as something else", name)
	case !array && c.explicit:
		return nil, fmt.Errorf("toml: table %s already exists", name)
	}
	if array {
		item := &oldNode{}
		c.items = append(c.items, item)
		return item, nil
	}
	c.explicit = true
	return c, nil
}

func (n *oldNode) keyValue(expr *unstable.Node, raw []byte) error {
	names := keyNames(expr)
	if len(names) > maxKeyParts {
		return errKeyParts
	}
	for i, name := range names {
		c := n.child(name)
		last := i == len(names)-1
		switch {
		case c == nil:
			c = n.add(name, &oldNode{dotted: true, byKey: true})
		case last:
			return fmt.Errorf("toml: key %s is already defined", name)
		case c.kind != oldTable:
			return fmt.Errorf("toml: expected %s to be a table", name)
		case c.explicit:
			return fmt.Errorf("toml: cannot redefine table %s that has already been explicitly defined", name)
		}
		n = c
	}
	n.kind = oldValue
	n.raw = valueText(raw)
	return nil
}

// valueText is what stands behind the equals sign of a key and value.
func valueText(raw []byte) []byte {
	quote := byte(0)
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '=':
			return bytes.TrimSpace(raw[i+1:])
		}
	}
	return nil
}

// write writes the document out with each table in one place, so that the
// newer library reads the same from it.
func (n *oldNode) write(b *bytes.Buffer, path string) {
	tables := func(name string) bool { return n.children[name].kind != oldValue }
	for _, name := range n.order {
		if !tables(name) {
			fmt.Fprintf(b, "%s = %s\n", tomlKey(name), n.children[name].raw)
		}
	}
	for _, name := range n.order {
		c := n.children[name]
		at := strings.TrimPrefix(path+"."+tomlKey(name), ".")
		switch c.kind {
		case oldTable:
			fmt.Fprintf(b, "[%s]\n", at)
			c.write(b, at)
		case oldArray:
			for _, item := range c.items {
				fmt.Fprintf(b, "[[%s]]\n", at)
				item.write(b, at)
			}
		}
	}
}

// tomlKey writes any key as TOML.
func tomlKey(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range name {
		if r == '"' || r == '\\' || r < ' ' || r == 0x7f {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
