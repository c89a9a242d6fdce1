package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/runtimegate/runtimegate/config/schema"
)

// minor is the minor version whose list of plugins is the nearest to rt.
func (r Runtime) minor() string {
	switch {
	case !r.atLeast(1, 6, 0):
		return "1.6"
	case r.atLeast(2, 4, 0):
		return "2.4"
	case r.compare(2, 0, 0) < 0 && r.minorOf > 7:
		return "1.7"
	}
	return fmt.Sprintf("%d.%d", r.major, r.minorOf)
}

// pluginTypes are the sections of the built-in plugins.
func pluginTypes(rt Runtime) map[string]reflect.Type {
	types, err := schema.Plugins(rt.minor())
	if err != nil {
		// The lists are built in, and read by a test.
		panic(err)
	}
	return types
}

// checkOthers decodes the sections of the plugins that have nothing to do with
// the CRI: a wrong type in one stops containerd just the same.
func checkOthers(types map[string]reflect.Type, sections, disabled []string, id func(name string) string, decode func(section string, v any) error) error {
	present := keySet(sections...)
	off := keySet(disabled...)
	for _, name := range sortedKeys(types) {
		t := types[name]
		if t == nil || t.Kind() != reflect.Struct || !present[id(name)] || off[id(name)] || criPlugins[name] {
			continue
		}
		if err := decode(id(name), reflect.New(t).Interface()); err != nil {
			var failure *loadFailure
			if errors.As(err, &failure) && failure.exit > 1 {
				return err
			}
			return fail("plugin %s: %s", name, shortType(err.Error()))
		}
	}
	return nil
}

var criPlugins = keySet(oldCRI, runtimeCRI, imagesCRI)

// shortType takes the long names of types made at run time out of a message.
func shortType(msg string) string {
	if i := strings.Index(msg, " struct {"); i >= 0 {
		return msg[:i] + " that field"
	}
	return msg
}

// pluginID is the name that version 1 files of 1.x have for a plugin.
func pluginID(version int) func(name string) string {
	if version != 0 && version != 1 {
		return func(name string) string { return name }
	}
	return func(name string) string {
		// A plugin's type ends with its version: io.containerd.gc.v1.scheduler.
		elems := strings.Split(name, ".")
		for i := len(elems) - 2; i > 0; i-- {
			if len(elems[i]) == 2 && elems[i][0] == 'v' {
				return strings.Join(elems[i+1:], ".")
			}
		}
		return name
	}
}
