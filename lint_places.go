package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/runtimegate/runtimegate/webhook"
)

// A lintPlace is where a manifest says what a verdict is about.
type lintPlace struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Column is absent in JSON manifests.
	Column int `json:"column,omitempty"`
	// Field is what stands there, as kubectl writes paths; empty: the object.
	Field string `json:"field,omitempty"`
	// Source is the template that Helm made the document from, or the file that
	// kustomize took it from.
	Source string `json:"source,omitempty"`
}

func (p lintPlace) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// A placedError is an error of which the place is known. Its text starts with it.
type placedError struct {
	place lintPlace
	err   error
}

func (e *placedError) Error() string { return fmt.Sprintf("%s: %v", e.place, e.err) }
func (e *placedError) Unwrap() error { return e.err }

// place is that of the first of some paths that the document has, each below
// the path of the object, which it is if it has none.
func (o *readObject) place(paths [][]any) lintPlace {
	for _, path := range append(paths, []any{}) {
		if line, column, ok := o.at.find(append(slices.Clone(o.path), path...)); ok {
			return lintPlace{File: o.at.file, Line: line, Column: column, Field: fieldPath(path), Source: o.source()}
		}
	}
	return lintPlace{File: o.at.file, Line: o.at.line, Source: o.source()}
}

// templatePaths are where kinds other than Pods have their template, if not in
// spec.template.
var templatePaths = map[string][]any{
	"Pod":         {},
	"PodTemplate": {"template"},
	"CronJob":     {"spec", "jobTemplate", "spec", "template"},
}

// meant are the fields that a finding may be about, the likeliest first.
func (o *readObject) meant(f *webhook.Finding) [][]any {
	if o.kind.Kind == "RuntimeClass" {
		return [][]any{{"handler"}}
	}
	template, ok := templatePaths[o.kind.Kind]
	if !ok {
		template = []any{"spec", "template"}
	}
	in := func(path ...any) []any { return append(slices.Clone(template), path...) }
	var paths [][]any
	if f != nil {
		switch f.Condition {
		case webhook.FeatureMissing, webhook.Unknown:
			paths = o.features(in, f.Detail)
		case webhook.Rejected:
			for _, key := range []string{"nodeSelector", "overhead"} {
				if strings.Contains(f.Detail, key) {
					paths = append(paths, in("spec", key))
				}
			}
		}
	}
	return append(paths, in("spec", "runtimeClassName"), in("metadata", "annotations", webhook.UntrustedAnnotation), in("spec"))
}

// features are the fields that need a feature of the runtime which a finding
// names.
func (o *readObject) features(in func(...any) []any, detail string) [][]any {
	var paths [][]any
	for _, path := range [][]any{{"spec", "hostUsers"}, {"spec", "securityContext", "supplementalGroupsPolicy"}, {"spec", "resourceClaims"}} {
		if strings.Contains(detail, path[len(path)-1].(string)) {
			paths = append(paths, in(path...))
		}
	}
	if !strings.Contains(detail, "recursiveReadOnly") {
		return paths
	}
	for _, containers := range []string{"initContainers", "containers"} {
		at := append(slices.Clone(o.path), in("spec", containers)...)
		for i, container := range itemsOf(o.at.node(at)) {
			for k := range itemsOf(field(container, "volumeMounts")) {
				paths = append(paths, in("spec", containers, i, "volumeMounts", k, "recursiveReadOnly"))
			}
		}
	}
	return paths
}

func itemsOf(n *yaml.Node) []*yaml.Node {
	if n = resolve(n); n != nil && n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return nil
}

// node is the value at a path, nil if there is none.
func (d *document) node(path []any) *yaml.Node {
	n, err := d.tree()
	if err != nil {
		return nil
	}
	for _, step := range path {
		if n, _ = child(n, step); n == nil {
			return nil
		}
	}
	return n
}

// find returns where in the file the key or item at the end of a path stands.
func (d *document) find(path []any) (line, column int, ok bool) {
	n, err := d.tree()
	if err != nil {
		return 0, 0, false
	}
	at := n
	for _, step := range path {
		if n, at = child(n, step); n == nil {
			return 0, 0, false
		}
	}
	return d.line + at.Line - 1, at.Column, true
}

// child is the value of a key or index, and the node that shows where it is: of
// a key the key itself.
func child(n *yaml.Node, step any) (value, at *yaml.Node) {
	n = resolve(n)
	switch step := step.(type) {
	case string:
		if n == nil || n.Kind != yaml.MappingNode {
			return nil, nil
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i+1], n.Content[i]
			}
		}
	case int:
		if items := itemsOf(n); step < len(items) {
			return items[step], items[step]
		}
	}
	return nil, nil
}

// originAnnotation is where kustomize says what it took an object from, with
// buildMetadata: [originAnnotations].
const originAnnotation = "config.kubernetes.io/origin"

// source is what the object was made from, where the place in its stream says
// little: Helm's template, or the file of a kustomization, if it is one here.
func (o *readObject) source() string {
	if source := o.at.source(); source != "" || o.at.file != stdinName {
		return source
	}
	var origin struct{ Path, Repo string }
	if yaml.Unmarshal([]byte(o.GetAnnotations()[originAnnotation]), &origin) != nil || origin.Repo != "" {
		return ""
	}
	return origin.Path
}

// isTemplate is a file of a chart, as Helm names it: other comments begin like
// that, too.
var isTemplate = regexp.MustCompile(`^(?:[\w.+-]+/)*(?:templates|crds)/[\w./+-]+$`)

// source is the template that the document was made from: Helm says it in a
// comment at the top.
func (d *document) source() string {
	for line := range bytes.Lines(d.text) {
		text := string(bytes.TrimSpace(line))
		if source, ok := strings.CutPrefix(text, "# Source: "); ok && isTemplate.MatchString(source) {
			return source
		}
		if text != "" && text[0] != '#' && !isSeparator(line) {
			return ""
		}
	}
	return ""
}

// placeOfError is where an error is from, if it says so, and what it says
// beside.
func placeOfError(err error) (lintPlace, string) {
	var placed *placedError
	if errors.As(err, &placed) && strings.HasPrefix(err.Error(), placed.place.String()) {
		return placed.place, placed.err.Error()
	}
	return lintPlace{}, err.Error()
}
