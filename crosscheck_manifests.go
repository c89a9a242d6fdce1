package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxManifestBytes bounds one manifest file.
const maxManifestBytes = 8 << 20

// stdinName is what places in stdin are called.
const stdinName = "stdin"

// A runtimeClass is what a manifest says of one RuntimeClass.
type runtimeClass struct {
	name, handler string
	place         string // file:line
}

// checkHandlerName refuses what no RuntimeClass can name; it also keeps lines
// of output apart from names.
func checkHandlerName(name string) error {
	if name == "" {
		return errors.New("empty handler name")
	}
	if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
		return fmt.Errorf("handler %q is not a DNS label, so no RuntimeClass can name it", name)
	}
	return nil
}

// strayNote tells of what in a folder is no Kubernetes object.
const strayNote = "passed over as no Kubernetes object, without apiVersion and kind: %s%s"

// readRuntimeClasses reads what -f names; stray are the places of what in a folder is no
// Kubernetes object, as the values of a chart.
func readRuntimeClasses(path string, recursive bool, stdin io.Reader) (classes []runtimeClass, stray []string, err error) {
	files, err := manifestFiles(path, recursive)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		err := openManifest(file, stdin, func(r io.Reader, name string) error {
			m := &manifest{name: name, inFolder: file != path}
			err := m.read(r)
			classes, stray = append(classes, m.classes...), append(stray, m.stray...)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return classes, stray, nil
}

// manifestFiles lists what -f names: a file, - for stdin, or a folder, of which
// it takes the .yaml, .yml and .json files, as kubectl does. Beside an error it
// returns the files that it found all the same.
func manifestFiles(path string, recursive bool) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("-f %s: %w", path, pathCause(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	var fault error
	// WalkDir goes in lexical order, and follows a link only at its end.
	root := strings.TrimRight(path, "/") + "/"
	filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			fault = cmp.Or(fault, fmt.Errorf("-f %s: %w", file, pathCause(err)))
		case entry.IsDir():
			if file != root && !recursive {
				return fs.SkipDir
			}
		default:
			switch filepath.Ext(file) {
			case ".yaml", ".yml", ".json":
				// To read a pipe might never end.
				if info, err := os.Stat(file); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
					fault = cmp.Or(fault, fmt.Errorf("-f %s: neither a file nor a folder", file))
					return nil
				}
				files = append(files, file)
			}
		}
		return nil
	})
	if fault == nil && len(files) == 0 {
		// A wrong folder must not pass for one in which all is well.
		return nil, fmt.Errorf("-f %s: no .yaml, .yml or .json file in it (-R looks into the folders below)", path)
	}
	return files, fault
}

// openManifest hands one of the files of manifestFiles to a reader.
func openManifest(file string, stdin io.Reader, read func(r io.Reader, name string) error) error {
	if file == "-" {
		return read(stdin, stdinName)
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("-f %s: %w", file, pathCause(err))
	}
	defer f.Close()
	return read(f, file)
}

// read reads the RuntimeClasses of a stream of YAML or JSON documents.
func (m *manifest) read(r io.Reader) error {
	data, err := readLimited(r, m.name, maxManifestBytes, "a manifest")
	if err != nil {
		return err
	}
	empty := *m
	switch text := bytes.TrimSpace(data); {
	case len(text) == 0 && m.inFolder:
	case len(text) == 0:
		return fmt.Errorf("%s: empty; expected manifests of RuntimeClasses", m.name)
	case text[0] == '{':
		// YAML may start so too.
		if err = m.json(data); err != nil {
			if again := empty; again.yaml(data) == nil {
				*m, err = again, nil
			}
		}
	default:
		err = m.yaml(data)
	}
	if err == nil && m.objects == 0 && !m.inFolder {
		return fmt.Errorf("%s: holds no Kubernetes object; expected manifests of RuntimeClasses", m.name)
	}
	return err
}

// readLimited reads all of a file that must not be larger than a limit.
func readLimited(r io.Reader, name string, limit int, what string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", name, pathCause(err))
	}
	if len(data) > limit {
		return nil, fmt.Errorf("%s: larger than %d MiB, so it is not read as %s", name, limit>>20, what)
	}
	return data, nil
}

// A manifest collects the RuntimeClasses of one file.
type manifest struct {
	name    string
	classes []runtimeClass
	objects int

	// inFolder is set for a file that nobody has named: what of it is no object is
	// stray.
	inFolder bool
	stray    []string // file:line
}

var yamlErrorLine = regexp.MustCompile(`^yaml: line (\d+): `)

func (m *manifest) yaml(data []byte) error {
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			msg := yamlErrorLine.ReplaceAllString(err.Error(), "$1: not valid YAML: ")
			msg = strings.TrimPrefix(msg, "yaml: ")
			return fmt.Errorf("%s:%s", m.name, strings.TrimPrefix(msg, " "))
		}
		if len(doc.Content) == 0 || isNull(doc.Content[0]) {
			continue
		}
		if err := m.document(doc.Content[0]); err != nil {
			return err
		}
	}
}

// document takes the value of a document, which is to be an object.
func (m *manifest) document(n *yaml.Node) error {
	if m.inFolder && field(n, "apiVersion") == nil && field(n, "kind") == nil {
		m.stray = append(m.stray, fmt.Sprintf("%s:%d", m.name, n.Line))
		return nil
	}
	return m.object(n, "", "")
}

// maxObjects bounds the objects of a file: aliases can make a list of lists
// endless.
const maxObjects = 100_000

// object takes one object; apiVersion and kind are what its list says of its
// items, for items that do not say it themselves.
func (m *manifest) object(n *yaml.Node, apiVersion, kind string) error {
	n = resolve(n)
	if m.objects++; m.objects > maxObjects {
		return m.errorf(n, "more than %d objects", maxObjects)
	}
	if n.Kind != yaml.MappingNode {
		return m.errorf(n, "not a Kubernetes object")
	}
	if s := text(field(n, "apiVersion")); s != "" {
		apiVersion = s
	}
	if s := text(field(n, "kind")); s != "" {
		kind = s
	}
	if kind == "" || apiVersion == "" {
		return m.errorf(n, "no apiVersion and kind, so not a Kubernetes object")
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	switch {
	case kind == "List" && apiVersion == "v1":
		return m.items(n, "", "")
	case kind == "RuntimeClassList" && group == "node.k8s.io":
		return m.items(n, apiVersion, "RuntimeClass")
	case kind == "RuntimeClass" && group == "node.k8s.io":
		return m.runtimeClass(n, version)
	case strings.EqualFold(kind, "RuntimeClass") && (group == "node.k8s.io" || apiVersion == "v1"):
		// No other kind of Kubernetes is named like that.
		return m.errorf(n, "%s of apiVersion %s: want RuntimeClass of node.k8s.io/v1", kind, apiVersion)
	}
	return nil
}

func (m *manifest) items(n *yaml.Node, apiVersion, kind string) error {
	items := resolve(field(n, "items"))
	if items == nil || isNull(items) {
		return nil
	}
	if items.Kind != yaml.SequenceNode {
		return m.errorf(items, "items of a list must be a list")
	}
	for _, item := range items.Content {
		if err := m.object(item, apiVersion, kind); err != nil {
			return err
		}
	}
	return nil
}

func (m *manifest) runtimeClass(n *yaml.Node, version string) error {
	c := runtimeClass{name: text(field(field(n, "metadata"), "name")), place: fmt.Sprintf("%s:%d", m.name, n.Line)}
	path, handler := "handler", field(n, "handler")
	switch version {
	case "v1", "v1beta1":
	case "v1alpha1":
		path, handler = "spec.runtimeHandler", field(field(n, "spec"), "runtimeHandler")
	default:
		return m.errorf(n, "RuntimeClass %q: unknown version %q of node.k8s.io", c.name, version)
	}
	handler = resolve(handler)
	switch {
	case handler == nil || isNull(handler) || handler.Kind == yaml.ScalarNode && handler.Value == "":
		return m.errorf(n, "RuntimeClass %q has no handler; set %s", c.name, path)
	case handler.Kind != yaml.ScalarNode || handler.ShortTag() != "!!str":
		return m.errorf(handler, "RuntimeClass %q: %s must be a string", c.name, path)
	}
	if err := checkHandlerName(handler.Value); err != nil {
		return m.errorf(handler, "RuntimeClass %q: %w", c.name, err)
	}
	c.handler = handler.Value
	m.classes = append(m.classes, c)
	return nil
}

func (m *manifest) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", m.name, n.Line, fmt.Errorf(format, args...))
}

// field returns the value of a key, nil if there is none.
func field(n *yaml.Node, key string) *yaml.Node {
	n = resolve(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// resolve follows an alias to its anchor.
func resolve(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func text(n *yaml.Node) string {
	if n = resolve(n); n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
