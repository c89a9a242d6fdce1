package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// pathSep joins the keys of a path.
const pathSep = "\x00"

// settings are what is set in the decoded sections of the CRI plugins, under the
// names that containerd 2.x has for them. What is empty is left out, and so is
// what is as by default, but for handlers; usual are these defaults.
func (l *loader) settings() (out, usual map[string]any) {
	out, usual = map[string]any{}, map[string]any{}
	section := func(plugin, defaults any, to func([]string) []string) { section(out, usual, plugin, defaults, to) }
	if p := l.plugin1; p != nil {
		m := &mover{from: l.rt, to: Runtime{Name: Containerd, major: 2, minorOf: 1}}
		section(p, defaultPlugin1(l.rt), func(path []string) []string {
			if path[0] == "containerd" && len(path) > 1 && legacyTables[path[1]] != "" {
				return nil
			}
			return m.moveCRI(path)
		})
	}
	under := func(plugin string) func([]string) []string {
		return func(path []string) []string { return append([]string{plugin}, path...) }
	}
	if p := l.plugins2.runtime; p != nil {
		section(p, defaultRuntimePlugin(l.rt), under(runtimeCRI))
	}
	if p := l.plugins2.images; p != nil {
		section(p, defaultImagePlugin(), under(imagesCRI))
	}
	if p := l.plugins2.server; p != nil {
		section(p, defaultServerPlugin(), under(oldCRI))
	}
	return out, usual
}

// section adds the settings of one section, each where to says, nil for nowhere.
func section(out, usual map[string]any, plugin, defaults any, to func(path []string) []string) {
	byDefault := map[string]any{}
	flatten(byDefault, nil, reflect.ValueOf(defaults))
	set := map[string]any{}
	flatten(set, nil, reflect.ValueOf(plugin))
	for key, value := range set {
		if path, value := placed(to(strings.Split(key, pathSep)), value); path != nil && (isHandler(path) || !reflect.DeepEqual(value, byDefault[key])) {
			out[strings.Join(path, pathSep)] = value
		}
	}
	for key, value := range byDefault {
		if path, value := placed(to(strings.Split(key, pathSep)), value); path != nil && !isHandler(path) {
			usual[strings.Join(path, pathSep)] = value
		}
	}
}

func isHandler(path []string) bool {
	return len(path) > 4 && path[1] == "containerd" && path[2] == "runtimes"
}

// placed is a setting as it is compared; its path is nil when it says nothing.
func placed(path []string, value any) ([]string, any) {
	if path == nil {
		return nil, nil
	}
	switch last := path[len(path)-1]; {
	case isHandler(path) && last == "sandboxer" && value == "podsandbox":
		return nil, nil // what it is without the key
	case last == "bin_dir", last == "bin_dirs":
		if dir, ok := value.(string); ok {
			value = []string{dir}
		}
		path[len(path)-1] = "bin_dirs"
	}
	return path, value
}

// flatten adds what a value holds, by path.
func flatten(out map[string]any, path []string, v reflect.Value) {
	below := func(key string) []string { return append(slices.Clip(path), key) }
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			flatten(out, path, v.Elem())
		}
	case reflect.Struct:
		if v.NumField() == 0 || v.Type().Field(0).Tag.Get("toml") == "" {
			out[strings.Join(path, pathSep)] = fmt.Sprint(v.Interface()) // a date
			return
		}
		for i := range v.NumField() {
			flatten(out, below(v.Type().Field(i).Tag.Get("toml")), v.Field(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			flatten(out, below(key.String()), v.MapIndex(key))
		}
	case reflect.Slice:
		if v.Len() > 0 {
			out[strings.Join(path, pathSep)] = plain(v)
		}
	default:
		if !v.IsZero() {
			out[strings.Join(path, pathSep)] = v.Interface()
		}
	}
}

// plain is a list as it is compared: whatever library read it, its strings are
// strings.
func plain(v reflect.Value) any {
	var list []string
	for i := range v.Len() {
		item := v.Index(i)
		for item.Kind() == reflect.Interface {
			item = item.Elem()
		}
		if item.Kind() != reflect.String {
			return v.Interface()
		}
		list = append(list, item.String())
	}
	return list
}

// handlerOf is the handler that a setting is of, "" when it is of none, and the
// rest of its path.
func handlerOf(path string) (name, key string) {
	parts := strings.Split(path, pathSep)
	if len(parts) < 5 || parts[0] != runtimeCRI || parts[1] != "containerd" || parts[2] != "runtimes" {
		return "", settingName(parts)
	}
	return parts[3], strings.Join(parts[4:], ".")
}

// settingName is a path for people.
func settingName(parts []string) string { return tableText(parts) }
