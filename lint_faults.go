package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/runtimegate/runtimegate/config"
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

// strictErrors judges what the strict decoder found beside the object: a key that is
// there twice is an error, and so is a field that is no field and was meant to ask for
// a class, since where it is not refused its Pods start with the default handler.
// Others may be of a newer Kubernetes.
func (r *objectReader) strictErrors(d *document, path []any, name string, strict []error) error {
	var unknown []string
	for _, err := range strict {
		quoted, ok := strings.CutPrefix(err.Error(), "unknown field ")
		if !ok {
			return d.errorf(path, "%s: %w", name, err)
		}
		field := strings.Trim(quoted, `"`)
		if r.unknown == nil || !meansClass(field) {
			unknown = append(unknown, field)
			continue
		}
		return d.errorf(append(slices.Clip(path), pathOf(field)...), "%s has no field %q: kubectl apply refuses it, and where it is passed over the Pods get the default handler; want %s in the spec of the Pod or template", name, field, classField)
	}
	if len(unknown) > 0 && r.unknown != nil {
		quoted := make([]string, len(unknown))
		for i, field := range unknown {
			quoted[i] = fmt.Sprintf("%q", field)
		}
		r.unknown(d.errorf(append(slices.Clip(path), pathOf(unknown[0])...), "%s has no field %s: kubectl apply refuses it, and it was passed over", name, some(quoted)))
	}
	return nil
}

const classField = "runtimeClassName"

// meansClass tells whether a field that is not there was meant to be the
// runtimeClassName of a Pod: misspelt, or in the wrong place.
func meansClass(field string) bool {
	key := field[strings.LastIndex(field, ".")+1:]
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
	return strings.HasPrefix(plain, "runtimeclass") || config.Nearest(key, []string{classField}) != ""
}

// classIn returns where an object of any kind names a class, nil if it does not. In
// the definition of a kind there is no name at that place, but a schema.
func classIn(raw json.RawMessage) []any {
	if !bytes.Contains(raw, []byte(`"`+classField+`"`)) {
		return nil
	}
	var tree any
	if json.Unmarshal(raw, &tree) != nil {
		return nil
	}
	return classBelow(tree)
}

func classBelow(value any) []any {
	switch value := value.(type) {
	case map[string]any:
		if name, ok := value[classField].(string); ok && name != "" {
			return []any{classField}
		}
		for _, key := range sortedKeys(value) {
			if path := classBelow(value[key]); path != nil {
				return append([]any{key}, path...)
			}
		}
	case []any:
		for i, item := range value {
			if path := classBelow(item); path != nil {
				return append([]any{i}, path...)
			}
		}
	}
	return nil
}

// pathOf reads what fieldPath writes.
func pathOf(field string) []any {
	var path []any
	for step := range strings.SplitSeq(field, ".") {
		key, rest, _ := strings.Cut(step, "[")
		path = append(path, key)
		for index := range strings.SplitSeq(rest, "[") {
			if i, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil {
				path = append(path, i)
			}
		}
	}
	return path
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
