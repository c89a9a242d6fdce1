package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	toml1 "github.com/pelletier/go-toml"
	"github.com/pelletier/go-toml/v2"

	"github.com/runtimegate/runtimegate/config/schema"
)

// handlerKeysOf are the keys of a handler's table, and those of the table containerd
// above, that a version knows.
func handlerKeysOf(rt Runtime) (handler, above []string) {
	plugin := runtimeCRI
	if rt.class() == classA {
		plugin = oldCRI
	}
	containerd := fieldOf(pluginTypes(rt)[plugin], "containerd")
	above = fieldNames(containerd)
	return fieldNames(fieldOf(containerd, "runtimes").Elem()), above
}

func fieldOf(t reflect.Type, name string) reflect.Type {
	for i := range t.NumField() {
		if fieldName(t.Field(i)) == name {
			return t.Field(i).Type
		}
	}
	panic("there is no field " + name)
}

func fieldName(field reflect.StructField) string {
	if name := field.Tag.Get("toml"); name != "" {
		return name
	}
	return field.Name
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		names = append(names, fieldName(t.Field(i)))
	}
	return names
}

// runcOptions are the options that the runc shim has in a version.
func runcOptions(rt Runtime) []string {
	known := fieldNames(reflect.TypeFor[schema.RuncOptions]())
	return slices.DeleteFunc(known, func(name string) bool {
		if rt.class() == classA {
			return strings.HasPrefix(name, "TaskApi")
		}
		return name == "CriuPath"
	})
}

// hasRuncOptions tells whether the options of a handler are those of the runc shim. Of
// other shims containerd hands on what there is.
func (f *finder) hasRuncOptions(h *Handler) bool {
	return h.RuntimeType == runcV2 || h.RuntimeType == "io.containerd.runc.v1" && f.rt.class() == classA
}

// keyIn is the name that a version takes a key for, "" if it knows none.
func keyIn(rt Runtime, key string, known []string) string {
	for _, name := range known {
		switch {
		case key == name, rt.class() != classA && foldEqual(key, name):
			return name
		case key == strings.ToLower(name), key == strings.ToUpper(name), key == strings.ToLower(name[:1])+name[1:]:
			return name
		}
	}
	return ""
}

// unknownKeys reports keys of a handler's table that containerd ignores, of which 1.x
// says nothing and 2.x a line in its log.
func (f *finder) unknownKeys(h *HandlerReport, o *Origin) {
	if f.rt.Name != Containerd {
		return
	}
	known, above := handlerKeysOf(f.rt)
	file := o.doc
	if version, _ := file.find("version"); f.rt.class() != classA && version.text != "3" && version.text != "4" {
		known = append(known, "sandbox_mode") // which the migration makes sandboxer
	}
	options := runcOptions(f.rt)
	said := set{}
	for _, m := range file.under(o.table) {
		key := m.path[:len(o.table)+1]
		name := key[len(key)-1]
		level, other := known, options
		if keyIn(f.rt, name, known) == "options" && len(m.path) > len(key) && f.hasRuncOptions(&h.Handler) {
			key = m.path[:len(key)+1]
			name = key[len(key)-1]
			level, other = options, known
		}
		if keyIn(f.rt, name, level) != "" || said[tableText(key)] || file.isHandler(key) {
			continue
		}
		said[tableText(key)] = true
		if m.isEmpty() || m.text == "podsandbox" {
			continue // installers leave keys of older versions that say nothing
		}
		table := tableText(key[:len(key)-1])
		fix := "take it out, or correct its name"
		switch near := Nearest(name, level); {
		case near != "":
			fix = fmt.Sprintf("write %s in place of %s", near, name)
		case keyIn(f.rt, name, other) != "" && len(key) > len(o.table)+1:
			fix = fmt.Sprintf("move it to [%s]", tableText(o.table))
		case keyIn(f.rt, name, other) != "":
			fix = fmt.Sprintf("move it to [%s.options]", tableText(o.table))
		case keyIn(f.rt, name, above) != "":
			fix = fmt.Sprintf("move it to [%s]", tableText(o.table[:len(o.table)-2]))
		}
		f.add(CodeUnknownKey, Warning, Place{o.File, m.at.line}, h.Name, fix,
			"handler %q: containerd %s knows no key %s in [%s], and ignores it", h.Name, f.rt.Version, quoteKey(name), table)
	}
}

// isHandler tells whether a table is meant as a handler of its own.
func (o *outline) isHandler(table []string) bool {
	return slices.ContainsFunc(handlerKeys, func(key string) bool {
		_, ok := o.find(append(slices.Clip(table), key)...)
		return ok
	})
}

// optionTypes reports options of the runc shim with a value that it does not take:
// containerd looks at them when it makes a sandbox, not before.
func (f *finder) optionTypes(h *HandlerReport) {
	if f.rt.Name != Containerd || !f.hasRuncOptions(&h.Handler) {
		return
	}
	set := f.optionsOf(h.Name)
	known := runcOptions(f.rt)
	for _, key := range sortedKeys(set) {
		name := keyIn(f.rt, key, known)
		if name == "" || takesOption(f.rt, key, set[key]) {
			continue
		}
		severity, all := Warning, ""
		if h.Name == f.final.DefaultHandler {
			severity, all = Error, "; it is the default handler: every Pod without a RuntimeClass fails on this node"
		}
		kind := fieldOf(reflect.TypeFor[schema.RuncOptions](), name).Kind()
		want := map[reflect.Kind]string{reflect.Bool: "true or false", reflect.Uint32: "a number of 0 or more"}[kind]
		if want == "" {
			want = "a string, in quotes"
		}
		f.add(CodeOptionWrongType, severity, f.find("runtimes", h.Name, "options", key), h.Name, fmt.Sprintf("%s has to be %s", key, want),
			"handler %q: containerd starts with this value of %s, and makes no sandbox with it: none of the handler's Pods can start%s", h.Name, key, all)
	}
}

// optionsOf are the options of a handler as all files together give them.
func (f *finder) optionsOf(name string) map[string]any {
	switch {
	case f.plugin1 != nil:
		return f.plugin1.Runtimes[name].Options
	case f.plugins2.runtime != nil:
		return f.plugins2.runtime.Runtimes[name].Options
	}
	return nil
}

// takesOption reads an option as containerd does for a sandbox.
func takesOption(rt Runtime, key string, value any) bool {
	return readOption(rt, map[string]any{key: value}) == nil
}

func readOption(rt Runtime, option map[string]any) (err error) {
	defer catch(&err)
	var into schema.RuncOptions
	if rt.class() == classA {
		tree, err := toml1.TreeFromMap(option)
		if err != nil {
			return err
		}
		return tree.Unmarshal(&into)
	}
	text, err := toml.Marshal(option)
	if err != nil {
		return err
	}
	return toml.Unmarshal(text, &into)
}
