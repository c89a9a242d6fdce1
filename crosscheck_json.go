package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	yaml "go.yaml.in/yaml/v3"
)

// json reads JSON documents, one after the other. They go through their own
// decoder because YAML knows neither tabs as white space nor surrogate pairs.
func (m *manifest) json(data []byte) error {
	r := &jsonReader{decoder: json.NewDecoder(bytes.NewReader(data)), data: data, line: 1}
	for {
		n, err := r.value(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: not valid JSON: %w", m.name, r.at(), err)
		}
		if err := m.document(n); err != nil {
			return err
		}
	}
}

// A jsonReader builds YAML's tree, with lines, from JSON.
type jsonReader struct {
	decoder *json.Decoder
	data    []byte
	offset  int // up to which lines are counted
	line    int
}

// at returns the line where the last token ends.
func (r *jsonReader) at() int {
	if offset := int(r.decoder.InputOffset()); offset > r.offset {
		r.line += bytes.Count(r.data[r.offset:offset], []byte("\n"))
		r.offset = offset
	}
	return r.line
}

// maxJSONDepth bounds the recursion, which the decoder's tokens do not.
const maxJSONDepth = 1000

// value reads the next value. io.EOF stands for the end of the input between
// two documents only.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	token, err := r.decoder.Token()
	if errors.Is(err, io.EOF) && depth > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.at()}
	switch v := token.(type) {
	case json.Delim:
		n.Kind = yaml.SequenceNode
		if v == '{' {
			n.Kind = yaml.MappingNode
		}
		return n, r.content(n, depth)
	case string:
		n.Tag, n.Value = "!!str", v
	case nil:
		n.Tag = "!!null"
	default:
		n.Tag, n.Value = "!!float", fmt.Sprint(v)
	}
	return n, nil
}

// content reads what is in an object or array, up to its end. The keys of an
// object are tokens like its values.
func (r *jsonReader) content(n *yaml.Node, depth int) error {
	if depth == maxJSONDepth {
		return fmt.Errorf("nested more than %d deep", maxJSONDepth)
	}
	for r.decoder.More() {
		child, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, child)
	}
	_, err := r.decoder.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
