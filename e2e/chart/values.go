package chart

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Value is a key of values.yaml.
type Value struct {
	Path    string // as reporter.serviceAccount.name
	About   string // its comment
	Default string // as JSON; that of a group is what is in it
	Inner   []Value
}

// ReadValues reads a values.yaml with the comment above each key. What the schema
// says nothing about the inside of is a default as a whole: open tells.
func ReadValues(content []byte, open func(path string) bool) ([]Value, error) {
	document := &yaml.Node{}
	if err := yaml.Unmarshal(content, document); err != nil {
		return nil, err
	}
	return readMap("", document.Content[0], open)
}

func readMap(prefix string, node *yaml.Node, open func(string) bool) (values []Value, err error) {
	for i := 0; i < len(node.Content); i += 2 {
		key, content := node.Content[i], node.Content[i+1]
		v := Value{Path: prefix + key.Value, About: text(key.HeadComment)}
		if content.Kind == yaml.MappingNode && !open(v.Path) {
			v.Inner, err = readMap(v.Path+".", content, open)
		} else {
			v.Default, err = asJSON(content)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Path, err)
		}
		values = append(values, v)
	}
	return values, nil
}

func asJSON(node *yaml.Node) (string, error) {
	var value any
	if err := node.Decode(&value); err != nil {
		return "", err
	}
	content, err := json.Marshal(value)
	return string(content), err
}

// text is a comment as one line. Only what follows the last empty line is about
// the key.
func text(comment string) string {
	paragraphs := strings.Split(comment, "\n\n")
	var lines []string
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "#")))
	}
	return strings.Join(lines, " ")
}
