package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config/schema"
)

// The plugins that 2.x knows by other names than 1.x.
const (
	taskPlugin  = "io.containerd.runtime.v2.task"
	shimManager = "io.containerd.shim.v1.manager"
)

var renamedPlugins = map[string]string{
	"io.containerd.monitor.v1.cgroups":  "io.containerd.monitor.task.v1.cgroups",
	"io.containerd.internal.v1.restart": "io.containerd.monitor.container.v1.restart",
}

// A mover says where what stands in a file of an older version belongs. It does
// what the steps of containerd 2.x do (migrate.go), and saves what those drop:
// image settings of a file without handlers, and the handlers that 1.x makes of
// default_runtime and untrusted_workload_runtime.
type mover struct {
	from, to Runtime
	// short is set for files of version 0 and 1, which know plugins by short names.
	short bool
	// legacy are those of default_runtime and untrusted_workload_runtime that
	// define a handler.
	legacy map[string]bool
	// bare are the tables of the CRI plugin that are absent, so that 1.x looks for
	// what belongs there in the plugin's own table.
	bare map[string]bool
}

func newMover(from, to Runtime, version int, d *draft) *mover {
	m := &mover{from: from, to: to, short: version < 2, legacy: map[string]bool{}, bare: map[string]bool{}}
	for _, st := range d.statements {
		rest, ok := m.criPath(st.path)
		if ok && len(rest) == 3 && rest[0] == "containerd" && legacyTables[rest[1]] != "" && rest[2] == "runtime_type" && st.value != "" {
			m.legacy[rest[1]] = from.class() == classA
		}
	}
	for table := range embedded1 {
		m.bare[table] = from.class() == classA
	}
	for _, st := range d.statements {
		for _, path := range append([][]string{st.path}, st.below...) {
			if rest, ok := m.criPath(path); ok && len(rest) > 0 {
				delete(m.bare, rest[0])
			}
		}
	}
	return m
}

// legacyTables are the handlers that 1.x makes of tables.
var legacyTables = map[string]string{"default_runtime": "default", "untrusted_workload_runtime": "untrusted"}

// criPath is what of a path is below the CRI plugin of 1.x.
func (m *mover) criPath(path []string) (rest []string, ok bool) {
	if len(path) < 2 || path[0] != "plugins" || m.plugin(path[1]) != oldCRI {
		return nil, false
	}
	return path[2:], true
}

// plugin is the name of a plugin since version 2.
func (m *mover) plugin(name string) string {
	if m.short {
		name = fullPluginName(name)
	}
	return name
}

// move returns where what stands at a path belongs.
func (m *mover) move(path []string) []string {
	if rest, ok := m.criPath(path); ok {
		return append([]string{"plugins"}, m.moveCRI(rest)...)
	}
	if len(path) < 2 || path[0] != "plugins" {
		return path
	}
	name := m.plugin(path[1])
	rest := path[2:]
	switch now := renamedPlugins[name]; {
	case now != "":
		name = now
	case name == taskPlugin && len(rest) > 0 && rest[0] == "sched_core":
		name, rest = shimManager, []string{"env"}
	}
	return append([]string{"plugins", name}, rest...)
}

// moveCRI is move below the CRI plugin of 1.x.
func (m *mover) moveCRI(rest []string) []string {
	at := func(plugin string, path ...string) []string { return append([]string{plugin}, path...) }
	if len(rest) == 0 {
		return at(runtimeCRI)
	}
	for table, keys := range embedded1 {
		if m.bare[table] && keys[rest[0]] {
			return m.moveCRI(append([]string{table}, rest...))
		}
	}
	switch key := rest[0]; {
	case key == "sandbox_image":
		return at(imagesCRI, "pinned_images", "sandbox")
	case slices.Contains(imageKeys, key):
		return at(imagesCRI, rest...)
	case slices.Contains(serverKeys, key):
		return at(oldCRI, rest...)
	case key == "containerd" && len(rest) > 1:
		return m.moveContainerd(rest)
	case key == "cni" && len(rest) == 2 && rest[1] == "bin_dir" && m.to.atLeast(2, 1, 0):
		return at(runtimeCRI, "cni", "bin_dirs")
	}
	return at(runtimeCRI, rest...)
}

func (m *mover) moveContainerd(rest []string) []string {
	switch {
	case slices.Contains(imageContainerdKeys, rest[1]):
		return append([]string{imagesCRI}, rest[1:]...)
	case m.legacy[rest[1]]:
		rest = append([]string{"containerd", "runtimes", legacyTables[rest[1]]}, rest[2:]...)
	}
	if len(rest) == 4 && rest[1] == "runtimes" && rest[3] == "sandbox_mode" {
		rest = append(slices.Clone(rest[:3]), "sandboxer")
	}
	return append([]string{runtimeCRI}, rest...)
}

// gone tells whether the target does not know what belongs at a path, so that it
// would only warn of it at every start.
func (m *mover) gone(path []string) bool {
	if len(path) < 3 || path[0] != "plugins" {
		return false
	}
	plugin, spans := plugin2(path[1])
	return plugin != nil && !knownKey(plugin, path[2:]) || !spansAllow(m.to, spans, path[2:])
}

// plugin2 is the shape of a CRI plugin's section in 2.x, nil for others.
func plugin2(name string) (reflect.Type, []span) {
	switch name {
	case runtimeCRI:
		return reflect.TypeFor[schema.RuntimePlugin](), runtime2Spans
	case imagesCRI:
		return reflect.TypeFor[schema.ImagePlugin](), images2Spans
	case oldCRI:
		return reflect.TypeFor[schema.ServerPlugin](), nil
	}
	return nil, nil
}

// knownKey tells whether a shape has a path; what it holds in maps of anything
// it has.
func knownKey(t reflect.Type, path []string) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case len(path) == 0 || t.Kind() == reflect.Interface:
		return true
	case t.Kind() == reflect.Map:
		return knownKey(t.Elem(), path[1:])
	case t.Kind() != reflect.Struct:
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); foldEqual(f.Tag.Get("toml"), path[0]) {
			return knownKey(f.Type, path[1:])
		}
	}
	return false
}

func spansAllow(rt Runtime, spans []span, path []string) bool {
	for _, s := range spans {
		if s.in(rt) || len(s.path) > len(path) {
			continue
		}
		same := true
		for i, key := range s.path {
			same = same && (key == "*" || foldEqual(key, path[i]))
		}
		if same {
			return false
		}
	}
	return true
}

// embedded1 are the keys of the tables that go-toml 1 also finds in the plugin's
// own table.
var embedded1 = func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	t := reflect.TypeFor[schema.Plugin]()
	own := map[string]bool{}
	for i := range t.NumField() {
		own[t.Field(i).Tag.Get("toml")] = true
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.Anonymous {
			continue
		}
		keys := map[string]bool{}
		for k := range f.Type.NumField() {
			if key := f.Type.Field(k).Tag.Get("toml"); !own[key] {
				keys[key] = true
			}
		}
		all[f.Tag.Get("toml")] = keys
	}
	return all
}()

// isNothing tells whether a value's text says nothing.
func isNothing(s *statement) bool {
	return s.scalar && (s.value == "" || s.value == "false" || s.value == "0" || s.value == "0s") ||
		!s.header && strings.HasSuffix(strings.TrimSpace(s.text), "[]")
}
