package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// crashOnSecondReading is the crash of containerd 2.0 to 2.3 on an array of
// tables in a handler's options. They read a plugin's section twice, the second
// time over the first, when it has a key that they don't know (Config.Decode in
// cmd/containerd/server/config), and go-toml before 2.4 can't shorten an array
// that an interface holds (reflect.Value.SetLen using unaddressable value). Of
// the built-in plugins' fields only options holds values of any kind.
func crashOnSecondReading(rt Runtime, section any) error {
	at := arrayOfTables(section, "containerd", "runtimes", "*", "options")
	if at == nil {
		return nil
	}
	text, err := toml.Marshal(section)
	if err != nil {
		return fail("%w", err)
	}
	known := reflect.New(pluginTypes(rt)[runtimeCRI]).Interface()
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(known)
	var unknown *toml.StrictMissingError
	if !errors.As(err, &unknown) {
		return nil
	}
	return crash(fmt.Errorf("containerd crashes (a Go panic): in the section of %s it does not know the key %s, and then can't read the array of tables %s",
		runtimeCRI, strings.Join(unknown.Errors[0].Key(), "."), strings.Join(at, ".")))
}

// arrayOfTables is the key of one at or below the given path, where "*" is any
// key; nil if there is none. Written out, a list is one if it has nothing but
// tables.
func arrayOfTables(v any, path ...string) []string {
	table, _ := v.(map[string]any)
	for _, key := range sortedKeys(table) {
		below := path
		if len(path) > 0 {
			if path[0] != "*" && !foldEqual(key, path[0]) {
				continue
			}
			below = path[1:]
		} else if isArrayOfTables(table[key]) {
			return []string{key}
		}
		if rest := arrayOfTables(table[key], below...); rest != nil {
			return append([]string{key}, rest...)
		}
	}
	return nil
}

func isArrayOfTables(v any) bool {
	list, _ := v.([]any)
	for _, item := range list {
		if _, ok := item.(map[string]any); !ok {
			return false
		}
	}
	return len(list) > 0
}
