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

// ownGroups are those of Kubernetes' own kinds among all these. Until Kubernetes 1.15
// some were in extensions.
var ownGroups = []string{"", "apps", "batch", "extensions", nodev1.GroupName}

// maxListDepth bounds lists in lists.
const maxListDepth = 8

// A readObject is an object of a file.
type readObject struct {
	client.Object
	kind schema.GroupVersionKind
	at   *document
	path []any // in the document
	// refused says why the API server would not take it.
	refused webhook.Verdict
}

// A foreignObject is of a kind that is not read, as one that a CRD defines.
type foreignObject struct {
	name  string
	at    *document
	class []any // where it names a class
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

	// inFolder is set for files that nobody has named: what of them is no object, as
	// the values of a chart, is passed over. stray are these documents.
	inFolder bool
	stray    []*document
	// foreign are objects of other kinds in which a class is named.
	foreign []foreignObject

	objects []readObject
	// seen are the objects of any kind, and emptyLists the lists of none.
	seen, emptyLists int
}

// readManifests reads the objects of all that -f names.
func (r *objectReader) readManifests(paths []string, recursive bool, stdin io.Reader, note func(string, ...any)) {
	for _, path := range paths {
		files, err := manifestFiles(path, recursive)
		for _, file := range files {
			r.inFolder = file != path
			if err := openManifest(file, stdin, func(in io.Reader, name string) error {
				return r.readFrom(in, name, maxManifestBytes, "a manifest")
			}); err != nil {
				r.fault(err)
			}
		}
		if err != nil {
			r.fault(err)
		}
	}
	if len(r.stray) > 0 {
		note(strayNote, fmt.Sprintf("%s:%d", r.stray[0].file, r.stray[0].lineOf(nil)), andMore(len(r.stray)-1, "document"))
	}
	if len(r.foreign) > 0 {
		o := r.foreign[0]
		note("not judged, as its kind is no workload of Kubernetes itself, though it names a class: %s (%s:%d)%s; the webhook judges the Pods", o.name, o.at.file, o.at.lineOf(o.class), andMore(len(r.foreign)-1, "object"))
	}
}

// andMore counts what is left out of a message.
func andMore(n int, what string) string {
	if n == 0 {
		return ""
	}
	return " and " + countOf(n, "other "+what)
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
		if err != nil && r.unknown != nil {
			err = d.hintAtTemplate(err)
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
		if r.inFolder && path == nil {
			r.stray = append(r.stray, d)
			return
		}
		r.fault(d.errorf(path, "not a Kubernetes object"))
		return
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &head); err != nil {
		r.fault(d.errorf(path, "not a Kubernetes object: apiVersion and kind must be strings"))
		return
	}
	if r.inFolder && path == nil && head.APIVersion == nil && head.Kind == nil {
		r.stray = append(r.stray, d)
		return
	}
	if head.APIVersion != nil {
		version, err := schema.ParseGroupVersion(*head.APIVersion)
		if err != nil {
			r.fault(d.errorf(append(slices.Clip(path), "apiVersion"), "apiVersion %q is not of the form group/version", *head.APIVersion))
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
	of, ok := strings.CutSuffix(is.Kind, "List")
	// Another kind may end like that, and have items of its own.
	if _, wanted := r.wanted(schema.GroupVersionKind{Group: is.Group, Version: is.Version, Kind: of}); ok && len(head.Items) > 0 && (of == "" || wanted) {
		if of == "" {
			is = schema.GroupVersionKind{}
		}
		is.Kind = of
		r.items(d, head.Items, append(slices.Clip(path), "items"), is)
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
		if at := classIn(raw); at != nil {
			r.foreign = append(r.foreign, foreignObject{name: is.Kind + " " + nameIn(raw), at: d, class: append(slices.Clip(path), at...)})
		}
		return
	}
	object, err := r.decode(d, raw, path, is, want)
	if err != nil {
		r.fault(err)
		return
	}
	r.objects = append(r.objects, readObject{Object: object, kind: want, at: d, path: path})
}

// decode makes an object of the value at a path, and checks what of it must be
// there for a verdict.
func (r *objectReader) decode(d *document, raw json.RawMessage, path []any, is, want schema.GroupVersionKind) (client.Object, error) {
	name := func() string { return is.Kind + " " + nameIn(raw) }
	if is.Kind != want.Kind {
		return nil, d.errorf(append(slices.Clip(path), "kind"), "%s: kind %s is written %s", name(), is.Kind, want.Kind)
	}
	if is.Group != want.Group && is.Group != "extensions" {
		return nil, d.errorf(append(slices.Clip(path), "apiVersion"), "%s: apiVersion %s has no %s; want %s", name(), is.GroupVersion(), is.Kind, want.GroupVersion())
	}
	if is != want {
		return nil, d.errorf(path, "%s: apiVersion %s is not served by Kubernetes 1.30; want %s", name(), is.GroupVersion(), want.GroupVersion())
	}
	object, err := r.new(want)
	if err != nil {
		return nil, err
	}
	strict, err := kjson.UnmarshalStrict(raw, object)
	if err != nil {
		return nil, d.fieldError(raw, path, name(), func(data []byte) error {
			part, err := r.new(want)
			if err != nil {
				return err
			}
			return kjson.UnmarshalCaseSensitivePreserveInts(data, part)
		}, err)
	}
	if err := r.strictErrors(d, path, name(), strict); err != nil {
		return nil, err
	}
	if object.GetName() == "" && object.GetGenerateName() == "" {
		return nil, d.errorf(path, "%s has no metadata.name", is.Kind)
	}
	if _, ok := object.(*v1alpha1.RuntimePolicy); ok && !hasSelector(raw) {
		return nil, d.errorf(append(slices.Clip(path), "spec"), "%s has no spec.namespaceSelector, without which the API server does not take it; {} picks all namespaces", name())
	}
	if class, ok := object.(*nodev1.RuntimeClass); ok {
		if err := checkHandlerName(class.Handler); err != nil {
			return nil, d.errorf(append(slices.Clip(path), "handler"), "%s: %w", name(), err)
		}
	}
	return object, nil
}

// hasSelector tells whether a RuntimePolicy says what it picks. Once it is decoded,
// none looks like one that picks all.
func hasSelector(raw json.RawMessage) bool {
	var policy struct {
		Spec struct {
			NamespaceSelector map[string]any `json:"namespaceSelector"`
		} `json:"spec"`
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(raw, &policy) == nil && policy.Spec.NamespaceSelector != nil
}

func (r *objectReader) new(kind schema.GroupVersionKind) (client.Object, error) {
	object, err := r.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	return object.(client.Object), nil
}

// wanted returns the kind as it is read, if it is one of those to be read in any
// version: one that the cluster does not serve must not pass for checked.
func (r *objectReader) wanted(is schema.GroupVersionKind) (schema.GroupVersionKind, bool) {
	for _, kind := range r.kinds {
		// Another group may have a kind of that name, but none of Kubernetes itself.
		if strings.EqualFold(kind.Kind, is.Kind) && (kind.Group == is.Group || slices.Contains(ownGroups, kind.Group) && slices.Contains(ownGroups, is.Group)) {
			return kind, true
		}
	}
	return is, false
}
