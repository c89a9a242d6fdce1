//go:build ignore

// The lists of plugins in config/schema/plugins are printed by this file and
// one of registry1.go and registry2.go: see make.sh.
package main

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

var text = reflect.TypeFor[encoding.TextUnmarshaler]()

// maxDepth ends recursive types.
const maxDepth = 6

func shape(t reflect.Type, depth int) string {
	switch {
	case depth > maxDepth:
		return "any"
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.PointerTo(t).Implements(text):
		return "text"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + shape(t.Elem(), depth)
	case reflect.Slice:
		return "[]" + shape(t.Elem(), depth+1)
	case reflect.Map:
		return "map " + shape(t.Elem(), depth+1)
	case reflect.Interface:
		return "any"
	case reflect.Struct:
		return "{" + strings.Join(fields(t, depth+1), ";") + "}"
	}
	return t.Kind().String()
}

func fields(t reflect.Type, depth int) []string {
	var list []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			list = append(list, fields(embedded, depth)...)
		default:
			if name == "" {
				name = f.Name
			}
			list = append(list, name+":"+shape(f.Type, depth))
		}
	}
	return list
}

// emit prints a line for each plugin: its name and the shape of its section.
func emit(plugins map[string]any) {
	var lines []string
	for uri, config := range plugins {
		line := uri
		if config != nil {
			line += " " + shape(reflect.TypeOf(config).Elem(), 0)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
}
