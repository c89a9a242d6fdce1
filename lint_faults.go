package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// nameIn returns the quoted name in an object that may not be readable.
func nameIn(raw json.RawMessage) string {
	var head struct {
		Metadata struct {
			Name         string `json:"name"`
			GenerateName string `json:"generateName"`
		} `json:"metadata"`
	}
	_ = kjson.UnmarshalCaseSensitivePreserveInts(raw, &head)
	if head.Metadata.Name == "" {
		return fmt.Sprintf("%q", head.Metadata.GenerateName)
	}
	return fmt.Sprintf("%q", head.Metadata.Name)
}

// fieldError makes the error for an object that cannot be decoded: it names the
// first field at fault.
func (d *document) fieldError(raw json.RawMessage, path []any, name string, decode func([]byte) error, err error) error {
	var tree any
	if kjson.UnmarshalCaseSensitivePreserveInts(raw, &tree) != nil {
		return d.errorf(path, "%s: %w", name, err)
	}
	fault := findFault(tree, func(part any) bool {
		data, err := json.Marshal(part)
		return err != nil || decode(data) != nil
	})
	text := err.Error()
	// What of the library's text is about the value, without Go's names.
	if value, ok := strings.CutPrefix(text, "json: cannot unmarshal "); ok {
		value, _, _ = strings.Cut(value, " into ")
		text = text[strings.LastIndex(text, " of type ")+len(" of type "):]
		text = fmt.Sprintf("%s where %s is wanted", value, goType(text))
	}
	return d.errorf(append(slices.Clip(path), fault...), "%s: %s: %s", name, fieldPath(fault), text)
}

// goType says in JSON's words what a type of Go takes.
func goType(name string) string {
	switch {
	case name == "bool":
		return "true or false"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"):
		return "a whole number"
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case name == "string", strings.HasPrefix(name, "*"):
		return "a string"
	}
	if i := strings.LastIndex(name, "."); i >= 0 {
		return "an object (" + name[i+1:] + ")"
	}
	return name
}

// findFault returns the path of the first value that is at fault by itself,
// which fails says of a part that holds it and nothing else.
func findFault(value any, fails func(any) bool) []any {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(value) {
			inside := func(part any) bool { return fails(map[string]any{key: part}) }
			if inside(value[key]) {
				return append([]any{key}, findFault(value[key], inside)...)
			}
		}
	case []any:
		for i, item := range value {
			inside := func(part any) bool { return fails([]any{part}) }
			if inside(item) {
				return append([]any{i}, findFault(item, inside)...)
			}
		}
	}
	return nil
}

// fieldPath writes a path as kubectl does: spec.containers[0].name.
func fieldPath(path []any) string {
	var text strings.Builder
	for i, step := range path {
		switch step := step.(type) {
		case string:
			if i > 0 {
				text.WriteByte('.')
			}
			text.WriteString(step)
		case int:
			fmt.Fprintf(&text, "[%d]", step)
		}
	}
	return text.String()
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
