package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A dumpView is a table as go-toml/v2 hands it to containerd's structs: the
// keys of a struct match in any case, so that several tables of the document
// may fill one struct (containerd 2.x; the keys of a dump match exactly).
type dumpView []*dumpNode

// field returns what the key holds, in the order of the document.
func (v dumpView) field(key string) []*dumpNode {
	var found []*dumpNode
	for _, t := range v {
		for _, name := range t.names {
			if name == key || strings.EqualFold(name, key) {
				found = append(found, t.fields[name])
			}
		}
	}
	return found
}

// A dumpReader collects one dump from its tree.
type dumpReader struct {
	name string
}

func (r *dumpReader) wrongType(n *dumpNode, path, want string) error {
	return posError(r.name, n.at, "%s must be %s, but is %s", path, want, n.kind)
}

// table returns the tables that the key of v holds; path is the key's full
// path, for messages.
func (r *dumpReader) table(v dumpView, key, path string) (dumpView, error) {
	found := v.field(key)
	for _, n := range found {
		if !n.isTable() {
			return nil, r.wrongType(n, path, "a table")
		}
	}
	return found, nil
}

// scalar returns the last value of the key, nil if there is none.
func (r *dumpReader) scalar(v dumpView, key, path string, want dumpKind) (*dumpNode, error) {
	found := v.field(key)
	for _, n := range found {
		if n.kind != want {
			return nil, r.wrongType(n, path, want.String())
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found[len(found)-1], nil
}

// strings returns the elements of an array of strings.
func (r *dumpReader) strings(v dumpView, key string) ([]*dumpNode, error) {
	n, err := r.scalar(v, key, key, dumpArray)
	if n == nil || err != nil {
		return nil, err
	}
	for _, item := range n.items {
		if item.kind != dumpString {
			return nil, r.wrongType(item, "each element of "+key, "a string")
		}
	}
	return n.items, nil
}

// version returns the config version; a dump always has one.
func (r *dumpReader) version(v dumpView) (int, error) {
	n, err := r.scalar(v, "version", "version", dumpInteger)
	if n == nil || err != nil {
		return 0, err
	}
	version, err := strconv.ParseInt(strings.ReplaceAll(n.text, "_", ""), 0, 32)
	if err != nil || version < 0 {
		return 0, posError(r.name, n.at, "version %s is not a config version; containerd has 1 to 4", n.text)
	}
	return int(version), nil
}

// A dumpSection is what one name of the CRI plugin defines.
type dumpSection struct {
	plugin   string
	at       dumpPos
	handlers map[string]Handler
	places   map[string]dumpPos
	tables   bool // it has a table "runtimes"
	dflt     *dumpNode
	cdi      *dumpNode
	cdiDirs  bool
	extra    []Handler // default_runtime and untrusted_workload_runtime
	runc     dumpView  // the handler runc
}

// section reads a plugin's section; nil if there is none.
func (r *dumpReader) section(plugins dumpView, plugin string) (*dumpSection, error) {
	var v dumpView
	path := "plugins." + strconv.Quote(plugin)
	for _, t := range plugins {
		// The names of plugins are keys of a map: they match exactly.
		n := t.fields[plugin]
		if n == nil {
			continue
		}
		if !n.isTable() {
			return nil, r.wrongType(n, path, "a table")
		}
		v = append(v, n)
	}
	if v == nil {
		return nil, nil
	}
	s := &dumpSection{plugin: plugin, at: v[0].at, handlers: map[string]Handler{}, places: map[string]dumpPos{}}
	var err error
	if s.cdi, err = r.scalar(v, "enable_cdi", path+".enable_cdi", dumpBool); err != nil {
		return nil, err
	}
	s.cdiDirs = len(v.field("cdi_spec_dirs")) > 0
	containerd, err := r.table(v, "containerd", path+".containerd")
	if err != nil {
		return nil, err
	}
	return s, r.containerd(s, containerd, path+".containerd")
}

// containerd reads the table that holds the handlers and the default.
func (r *dumpReader) containerd(s *dumpSection, v dumpView, path string) error {
	var err error
	if s.dflt, err = r.scalar(v, "default_runtime_name", path+".default_runtime_name", dumpString); err != nil {
		return err
	}
	runtimes, err := r.table(v, "runtimes", path+".runtimes")
	if err != nil {
		return err
	}
	s.tables = len(runtimes) > 0
	for _, t := range runtimes {
		for _, name := range t.names {
			n := t.fields[name]
			if !n.isTable() {
				return r.wrongType(n, path+".runtimes."+quoteKey(name), "a table")
			}
			if err := r.handler(s, name, dumpView{n}, path+".runtimes."+quoteKey(name)); err != nil {
				return err
			}
			if _, ok := s.places[name]; !ok {
				s.places[name] = n.at
			}
			if name == "runc" {
				s.runc = append(s.runc, n)
			}
		}
	}
	if s.plugin == pluginCRIRuntime {
		return nil // 2.x knows no default_runtime and untrusted_workload_runtime
	}
	return r.extra(s, v, path)
}

// extra reads the two tables of containerd 1.x that become handlers at the
// daemon's start when they have a runtime_type
// (pkg/cri/config/config.go, ValidatePluginConfig, v1.7.35).
func (r *dumpReader) extra(s *dumpSection, v dumpView, path string) error {
	for _, e := range []struct{ key, name string }{
		{"default_runtime", "default"}, {"untrusted_workload_runtime", "untrusted"},
	} {
		table, err := r.table(v, e.key, path+"."+e.key)
		if err != nil {
			return err
		}
		of := &dumpSection{handlers: map[string]Handler{}}
		if err := r.handler(of, e.name, table, path+"."+e.key); err != nil {
			return err
		}
		if h := of.handlers[e.name]; h.RuntimeType != "" {
			s.extra = append(s.extra, h)
		}
	}
	return nil
}

func (r *dumpReader) handler(s *dumpSection, name string, v dumpView, path string) error {
	h := s.handlers[name]
	h.Name = name
	for _, f := range []struct {
		key string
		to  *string
	}{{"runtime_type", &h.RuntimeType}, {"runtime_path", &h.RuntimePath}} {
		n, err := r.scalar(v, f.key, path+"."+f.key, dumpString)
		if err != nil {
			return err
		}
		if n != nil {
			*f.to = n.text
		}
	}
	options, err := r.table(v, "options", path+".options")
	if err != nil {
		return err
	}
	for _, t := range options {
		// options is a map in containerd: its keys match exactly.
		n := t.fields["BinaryName"]
		if n == nil {
			continue
		}
		if n.kind != dumpString {
			return r.wrongType(n, path+".options.BinaryName", "a string")
		}
		h.BinaryName = n.text
	}
	s.handlers[name] = h
	return nil
}

// quoteKey writes a key as it stands in TOML: quoted where it must be.
func quoteKey(key string) string {
	bare := func(r rune) bool {
		return r == '-' || r == '_' || r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r))
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return !bare(r) }) {
		return strconv.Quote(key)
	}
	return key
}

// sortedHandlers returns the handlers of the sections by name; an earlier section's
// handler wins over a later one's.
func sortedHandlers(sections ...*dumpSection) []Handler {
	all := map[string]Handler{}
	for _, s := range slices.Backward(sections) {
		if s != nil {
			maps.Copy(all, s.handlers)
		}
	}
	var c CRI
	c.Handlers = slices.AppendSeq(make([]Handler, 0, len(all)), maps.Values(all))
	c.Sort()
	return c.Handlers
}
