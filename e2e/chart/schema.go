package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// onlyInSchema are the keys that no values.yaml has: those of a chart that has
// this one as a dependency. Their descriptions are the schema's own.
var onlyInSchema = []string{"enabled", "global"}

// Open says of which keys a schema does not know the inside.
func Open(schema []byte) (func(path string) bool, error) {
	root := map[string]any{}
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	return func(path string) bool {
		at := root
		for name := range strings.SplitSeq(path, ".") {
			properties, _ := at["properties"].(map[string]any)
			if at, _ = properties[name].(map[string]any); at == nil {
				return false // Describe says so
			}
		}
		return at["properties"] == nil
	}, nil
}

// Describe puts what the values are about into their schema. Both must have the
// same keys.
func Describe(schema []byte, values []Value) ([]byte, error) {
	root := map[string]any{}
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	if err := describe(root, "", values); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(root)
	return out.Bytes(), err
}

func describe(schema map[string]any, prefix string, values []Value) error {
	properties, _ := schema["properties"].(map[string]any)
	var known []string
	for _, v := range values {
		name := strings.TrimPrefix(v.Path, prefix)
		known = append(known, name)
		property, _ := properties[name].(map[string]any)
		if property == nil {
			return fmt.Errorf("values.yaml has %s, and the schema does not", v.Path)
		}
		if v.About != "" {
			property["description"] = v.About
		} else if len(v.Inner) == 0 {
			return fmt.Errorf("%s has no comment in values.yaml", v.Path)
		}
		if len(v.Inner) > 0 {
			if err := describe(property, v.Path+".", v.Inner); err != nil {
				return err
			}
		}
	}
	if len(values) > 0 {
		for name := range properties {
			if !slices.Contains(known, name) && (prefix != "" || !slices.Contains(onlyInSchema, name)) {
				return fmt.Errorf("the schema has %s%s, and values.yaml does not", prefix, name)
			}
		}
	}
	return nil
}
