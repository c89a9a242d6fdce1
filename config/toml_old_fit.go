package config

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
)

// oldText is the document as the newer library has to get it so that decoding
// into t comes out as the older library's does.
func oldText(data []byte, t reflect.Type) ([]byte, error) {
	root, err := readOld(data, t)
	if err != nil || root == nil {
		return data, err
	}
	return root.text(t)
}

func (n *oldNode) text(t reflect.Type) ([]byte, error) {
	if err := n.fit(t); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	n.write(&b, "")
	return b.Bytes(), nil
}

var errThroughScalar = errors.New("containerd crashes (a Go panic) while it reads this: a table stands below a key that is no table")

// fit does away with the tables that are nothing to the older library.
func (n *oldNode) fit(t reflect.Type) error {
	for _, name := range slices.Clone(n.order) {
		c := n.children[name]
		ct, ok := fieldType(t, name)
		if !ok || c.kind == oldValue || c.byKey {
			continue
		}
		switch ct.Kind() {
		case reflect.Interface:
		case reflect.Map, reflect.Struct:
			if c.kind == oldTable {
				if err := c.fit(ct); err != nil {
					return err
				}
			}
		case reflect.Slice:
			if err := c.fitSlice(ct.Elem()); err != nil {
				return err
			}
		default:
			if c.hasTables() {
				return crash(errThroughScalar)
			}
			if c.kind == oldTable && len(c.order) == 0 {
				n.remove(name)
			}
		}
	}
	return nil
}

// fitSlice: [[x]] with nothing below it adds an empty string to a list x.
func (n *oldNode) fitSlice(elem reflect.Type) error {
	if elem.Kind() != reflect.String {
		return nil
	}
	if n.kind == oldTable {
		for _, c := range n.children {
			if c.kind == oldArray {
				return crash(errThroughScalar)
			}
		}
		return nil
	}
	for _, item := range n.items {
		if item.hasTables() {
			return crash(errThroughScalar)
		}
		if len(item.order) > 0 {
			return nil
		}
	}
	n.kind = oldValue
	n.raw = []byte("[" + strings.Repeat(`"", `, len(n.items)) + "]")
	return nil
}

// hasTables tells whether a header goes on below a table.
func (n *oldNode) hasTables() bool {
	for _, c := range n.children {
		if c.kind != oldValue && !c.byKey {
			return true
		}
	}
	return slices.ContainsFunc(n.items, (*oldNode).hasTables)
}

func (n *oldNode) remove(name string) {
	delete(n.children, name)
	n.order = slices.DeleteFunc(n.order, func(s string) bool { return s == name })
}

// fieldType is the type that a key of a table decodes into.
func fieldType(t reflect.Type, name string) (reflect.Type, bool) {
	t = elem(t)
	switch t.Kind() {
	case reflect.Map:
		return elem(t.Elem()), true
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); foldEqual(f.Tag.Get("toml"), name) {
				return elem(f.Type), true
			}
		}
		return nil, false
	}
	return t, true
}

func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// knownTable tells whether a header leads to something in a type.
func knownTable(t reflect.Type, names []string) bool {
	for _, name := range names {
		if k := t.Kind(); k != reflect.Map && k != reflect.Struct {
			return true
		}
		var ok bool
		if t, ok = fieldType(t, name); !ok {
			return false
		}
	}
	return true
}
