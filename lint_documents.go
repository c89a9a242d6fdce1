package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// A document is one of the YAML or JSON documents of a file.
type document struct {
	file string
	line int // of its first line in the file
	text []byte
	json json.RawMessage // what it says

	root *yaml.Node // tree's, once it was asked for
}

// splitDocuments cuts a file into its YAML documents where kubectl does: at the
// lines that start with "---". A document that is at fault so does no harm to
// the others.
func splitDocuments(file string, data []byte) []*document {
	var all []*document
	d := &document{file: file, line: 1}
	start, line := 0, 1
	cut := func(at int) {
		d.text = data[start:at]
		if len(bytes.TrimSpace(d.text)) > 0 {
			all = append(all, d)
		}
		start, d = at, &document{file: file, line: line}
	}
	for at := 0; at < len(data); line++ {
		if isSeparator(data[at:]) {
			cut(at)
		}
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	cut(len(data))
	return all
}

func isSeparator(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || bytes.ContainsRune([]byte(" \t\r\n"), rune(rest[0])))
}

// values reads the document. JSON documents may stand one after the other, so
// that there may be several; those before one at fault are returned beside the
// error. A YAML document that holds nothing has none.
func (d *document) values() ([]*document, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(d.text, []byte("---")))
	if len(text) == 0 || text[0] != '{' {
		return d.yamlValue()
	}
	values, jsonErr := d.jsonValues()
	if jsonErr == nil {
		return values, nil
	}
	if len(values) == 0 {
		// YAML may start so too.
		if value, err := d.yamlValue(); err == nil {
			return value, nil
		}
	}
	return values, jsonErr
}

// yamlValue reads YAML as kubectl does, but for keys that are there twice, of
// which kubectl takes any.
func (d *document) yamlValue() ([]*document, error) {
	data, err := sigsyaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return nil, d.yamlError(err)
	}
	if bytes.Equal(data, []byte("null")) {
		return nil, nil
	}
	value := *d
	value.json = data
	return []*document{&value}, d.checkEnd()
}

// checkEnd makes sure that nothing comes after the one value that was read:
// without "---" the library passes the rest over.
func (d *document) checkEnd() error {
	if text := bytes.TrimSpace(d.text); text[0] != '{' && text[0] != '[' && !bytes.Contains(text, []byte("\n...")) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(d.text))
	var first, second yaml.Node
	if err := decoder.Decode(&first); err != nil {
		return d.yamlError(err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return d.errorAt(d.line, errors.New("not valid YAML: something comes after its end; start each document with ---"))
	}
	return nil
}

var yamlFault = regexp.MustCompile(`line (\d+): ([^\n]*)`)

// yamlError puts the place in front of what the YAML library says.
func (d *document) yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := d.line
	if m := yamlFault.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		line, text = d.line+max(n, 1)-1, m[2]
	}
	if key, ok := strings.CutSuffix(text, " already set in map"); ok {
		return d.errorAt(line, fmt.Errorf("%s is there twice", key))
	}
	return d.errorAt(line, fmt.Errorf("not valid YAML: %s", text))
}

func (d *document) errorAt(line int, err error) error {
	return &placedError{place: lintPlace{File: d.file, Line: line, Source: d.source()}, err: err}
}

// hintAtTemplate says of a document that cannot be read what helps, if it may be a
// template of a chart.
func (d *document) hintAtTemplate(err error) error {
	before, _, found := bytes.Cut(d.text, []byte("{{"))
	if !found {
		return err
	}
	place, text := placeOfError(err)
	// What the library makes of an action in place of a value.
	if at, ok := strings.CutPrefix(text, "not valid YAML: invalid map key: "); ok && strings.Contains(at, "map[") {
		place.Line = d.line + bytes.Count(before, []byte("\n"))
		text = "not valid YAML: {{ where a value is wanted"
	}
	return &placedError{place: place, err: errors.New(text + "; a template is to be rendered first, as by helm template CHART")}
}

func (d *document) jsonValues() ([]*document, error) {
	var values []*document
	text := d.text
	line := d.line
	if isSeparator(text) {
		text = text[len("---"):]
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for start := 0; ; {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		end := int(decoder.InputOffset())
		if err != nil {
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				end = int(syntax.Offset)
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				end = len(bytes.TrimRight(text, " \t\r\n"))
			}
			line += bytes.Count(text[start:min(max(end, start), len(text))], []byte("\n"))
			return values, d.errorAt(line, fmt.Errorf("not valid JSON: %w", err))
		}
		// The value ends at end; what is before it is white space.
		line += bytes.Count(text[start:end-len(raw)], []byte("\n"))
		values = append(values, &document{file: d.file, line: line, text: raw, json: raw})
		line += bytes.Count(raw, []byte("\n"))
		start = end
	}
}

// errorf makes an error about the value at a path, which consists of keys and
// indexes.
func (d *document) errorf(path []any, format string, args ...any) error {
	return d.errorAt(d.lineOf(path), fmt.Errorf(format, args...))
}

// lineOf returns the line of a value, or of what of the path there is. Lines
// are looked for only when they are told.
func (d *document) lineOf(path []any) int {
	n, err := d.tree()
	if err != nil {
		return d.line
	}
	line := n.Line
	for _, step := range path {
		if n, _ = child(n, step); n == nil {
			break
		}
		line = n.Line
	}
	return d.line + line - 1
}

// tree is the document with its lines.
func (d *document) tree() (*yaml.Node, error) {
	if d.root == nil {
		root, err := d.parse()
		if err != nil {
			return nil, err
		}
		d.root = root
	}
	return d.root, nil
}

func (d *document) parse() (*yaml.Node, error) {
	if bytes.Equal(d.text, d.json) {
		r := &jsonReader{decoder: json.NewDecoder(bytes.NewReader(d.text)), data: d.text, line: 1}
		return r.value(0)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(d.text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, errors.New("empty")
	}
	return doc.Content[0], nil
}
