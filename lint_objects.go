package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook"
)

// stateKinds are the kinds that a verdict depends on.
var stateKinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Node"),
	v1alpha1.GroupVersion.WithKind("NodeRuntime"),
	nodev1.SchemeGroupVersion.WithKind("RuntimeClass"),
	v1alpha1.GroupVersion.WithKind("RuntimePolicy"),
	corev1.SchemeGroupVersion.WithKind("Namespace"),
}

// manifestKinds are the kinds that matter in manifests: those that are judged,
// and those that are applied first.
var manifestKinds = append(slices.Clone(webhook.WorkloadKinds),
	corev1.SchemeGroupVersion.WithKind("Pod"),
	nodev1.SchemeGroupVersion.WithKind("RuntimeClass"),
	v1alpha1.GroupVersion.WithKind("RuntimePolicy"),
	corev1.SchemeGroupVersion.WithKind("Namespace"),
)

// maxListDepth bounds lists in lists.
const maxListDepth = 8

// A readObject is an object of a file.
type readObject struct {
	client.Object
	kind schema.GroupVersionKind
	at   *document
	path []any // in the document
}

// An objectReader reads the objects of certain kinds from files, and passes
// over all others. What is at fault it tells, and goes on with the next.
type objectReader struct {
	scheme *runtime.Scheme
	kinds  []schema.GroupVersionKind
	fault  func(error)
	// unknown is told of fields that the kind does not have; nil if they do not
	// matter.
	unknown func(error)

	objects []readObject
	// seen are the objects of any kind, and emptyLists the lists of none.
	seen, emptyLists int
}

// readFrom reads the objects of one file, which must not be larger than a limit.
func (r *objectReader) readFrom(in io.Reader, file string, limit int, what string) error {
	data, err := readLimited(in, file, limit, what)
	if err != nil {
		return err
	}
	r.read(data, file)
	return nil
}

// read reads the objects of a file's content.
func (r *objectReader) read(data []byte, file string) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for _, d := range splitDocuments(file, data) {
		values, err := d.values()
		for _, value := range values {
			r.value(value, value.json, nil, schema.GroupVersionKind{})
		}
		if err != nil {
			r.fault(err)
		}
	}
}

// value takes the value at a path of a document, which is to be an object.
// is is what its list says of its items.
func (r *objectReader) value(d *document, raw json.RawMessage, path []any, is schema.GroupVersionKind) {
	var head struct {
		APIVersion *string         `json:"apiVersion"`
		Kind       *string         `json:"kind"`
		Items      json.RawMessage `json:"items"`
	}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		r.fault(d.errorf(path, "not a Kubernetes object"))
		return
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &head); err != nil {
		r.fault(d.errorf(path, "not a Kubernetes object: apiVersion and kind must be strings"))
		return
	}
	if head.APIVersion != nil {
		version, err := schema.ParseGroupVersion(*head.APIVersion)
		if err != nil {
			r.fault(d.errorf(append(path, "apiVersion"), "apiVersion %q is not of the form group/version", *head.APIVersion))
			return
		}
		is.Group, is.Version = version.Group, version.Version
	}
	if head.Kind != nil {
		is.Kind = *head.Kind
	}
	if is.Kind == "" || is.Version == "" {
		r.fault(d.errorf(path, "no apiVersion and kind, so not a Kubernetes object"))
		return
	}
	if of, ok := strings.CutSuffix(is.Kind, "List"); ok && len(head.Items) > 0 {
		if of == "" {
			is = schema.GroupVersionKind{}
		}
		is.Kind = of
		r.items(d, head.Items, append(path, "items"), is)
		return
	}
	r.object(d, raw, path, is)
}

func (r *objectReader) items(d *document, raw json.RawMessage, path []any, is schema.GroupVersionKind) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		r.fault(d.errorf(path, "items of a list must be a list"))
		return
	}
	if len(items) == 0 {
		r.emptyLists++
	}
	if len(path) > 2*maxListDepth {
		r.fault(d.errorf(path, "lists nested more than %d deep", maxListDepth))
		return
	}
	for i, item := range items {
		r.value(d, item, append(slices.Clip(path), i), is)
	}
}

func (r *objectReader) object(d *document, raw json.RawMessage, path []any, is schema.GroupVersionKind) {
	r.seen++
	want, ok := r.wanted(is)
	if !ok {
		return
	}
	new := func() client.Object {
		object, _ := r.scheme.New(want)
		return object.(client.Object)
	}
	object := new()
	strict, err := kjson.UnmarshalStrict(raw, object)
	name := is.Kind + " " + nameIn(raw)
	if is != want {
		r.fault(d.errorf(path, "%s: apiVersion %s is not served by Kubernetes 1.30; want %s", name, is.GroupVersion(), want.GroupVersion()))
		return
	}
	if err != nil {
		r.fault(d.fieldError(raw, path, name, new, err))
		return
	}
	var unknown []string
	for _, err := range strict {
		if field, ok := strings.CutPrefix(err.Error(), "unknown field "); ok {
			unknown = append(unknown, field)
			continue
		}
		r.fault(d.errorf(path, "%s: %w", name, err))
		return
	}
	if len(unknown) > 0 && r.unknown != nil {
		r.unknown(d.errorf(path, "%s has no field %s: kubectl apply refuses it, and it was passed over", name, some(unknown)))
	}
	if object.GetName() == "" && object.GetGenerateName() == "" {
		r.fault(d.errorf(path, "%s has no metadata.name", is.Kind))
		return
	}
	if class, ok := object.(*nodev1.RuntimeClass); ok {
		if err := checkHandlerName(class.Handler); err != nil {
			r.fault(d.errorf(append(path, "handler"), "%s: %w", name, err))
			return
		}
	}
	r.objects = append(r.objects, readObject{Object: object, kind: want, at: d, path: path})
}

// wanted returns the kind as it is read, if it is one of those to be read in any
// version: one that the cluster does not serve must not pass for checked.
func (r *objectReader) wanted(is schema.GroupVersionKind) (schema.GroupVersionKind, bool) {
	group := is.Group
	if group == "extensions" {
		group = "apps" // until Kubernetes 1.15
	}
	for _, kind := range r.kinds {
		if kind.Kind == is.Kind && kind.Group == group {
			return kind, true
		}
	}
	return is, false
}

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
func (d *document) fieldError(raw json.RawMessage, path []any, name string, new func() client.Object, err error) error {
	var tree any
	if kjson.UnmarshalCaseSensitivePreserveInts(raw, &tree) != nil {
		return d.errorf(path, "%s: %w", name, err)
	}
	fault := findFault(tree, func(part any) bool {
		data, err := json.Marshal(part)
		return err != nil || kjson.UnmarshalCaseSensitivePreserveInts(data, new()) != nil
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
