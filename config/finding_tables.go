package config

import (
	"fmt"
	"slices"
	"strings"
)

// what is what an origin that is ignored has of its handler: of one that is loaded from
// another place not the handler is ignored.
func (f *finder) what(h *HandlerReport, o *Origin) string {
	switch {
	case !f.loaded(h.Name):
		return fmt.Sprintf("handler %q", h.Name)
	case o.part != nil:
		return fmt.Sprintf("a part of handler %q", h.Name)
	}
	return fmt.Sprintf("a table of handler %q", h.Name)
}

// worst is a Warning at least where an origin that is ignored sets what no place sets
// that counts: the handler is loaded, but without that. A whole handler below another
// version's name of the plugin may stand there for that version.
func (f *finder) worst(s Severity, h *HandlerReport, o *Origin) Severity {
	if s == Info && (o.cause != causeWrongPlugin || o.part != nil) && f.loses(h, o) {
		return Warning
	}
	return s
}

func (f *finder) loses(h *HandlerReport, o *Origin) bool {
	given := set{}
	for i := range h.Origins {
		if other := &h.Origins[i]; other.Fate == Loaded || other.Fate == Merged {
			_, keys := other.below()
			for _, m := range keys {
				given[other.relative(m)] = true
			}
		}
	}
	_, keys := o.below()
	return slices.ContainsFunc(keys, func(m mark) bool {
		return !m.isEmpty() && !f.builtin(h, o, m) && !given[o.relative(m)]
	})
}

// relative is a key below a handler's table with its value.
func (o *Origin) relative(m mark) string {
	return strings.ToLower(strings.Join(m.path[len(o.table):], pathSep)) + "=" + m.text
}

// isEmpty tells whether a key has the value that it has without being set.
func (m mark) isEmpty() bool {
	return slices.Contains([]string{"", "false", "0"}, m.text) && m.scalar
}

// builtin tells whether a key says what the built-in handler has anyway.
func (f *finder) builtin(h *HandlerReport, o *Origin, m mark) bool {
	return len(m.path) == len(o.table)+1 && foldEqual(m.path[len(o.table)], "runtime_type") && m.text == h.RuntimeType
}

// moveTo is what mends a table that stands in the wrong place. The tables below it are
// named too: who moves it alone leaves them behind.
func (f *finder) moveTo(o *Origin) string {
	if o.fix != "" {
		return o.fix
	}
	to := f.tableFor(o.name)
	below := func(path []string) string { return to + "." + tableText(path[len(o.table):]) }
	var others []string
	headers, _ := o.below()
	for _, m := range headers {
		others = append(others, fmt.Sprintf("[%s] in place of line %d", below(m.path), m.at.line))
	}
	if o.part != nil {
		to = below(o.part)
	}
	fix := fmt.Sprintf("write [%s]", to)
	if len(others) > 0 {
		fix += " and " + names(others)
	}
	return fix
}
