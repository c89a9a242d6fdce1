package inventory

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// newInformer makes the informers of a cache: of Nodes and NodeRuntimes such as list
// in pages, and keep no more of a page than is used.
func newInformer(config *rest.Config, scheme *runtime.Scheme, kept *keeper) (func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer, error) {
	// HTTP/2 sends a page in thousands of frames, of which client and server tell each
	// other how many may come: that costs both a quarter of a start.
	forPages := rest.CopyConfig(config)
	forPages.NextProtos = []string{"http/1.1"}
	codecs := serializer.NewCodecFactory(scheme)
	from := func(kind schema.GroupVersionKind, resource string) (*source, error) {
		var clients [2]rest.Interface
		for i, config := range []*rest.Config{config, forPages} {
			httpClient, err := rest.HTTPClientFor(config)
			if err != nil {
				return nil, fmt.Errorf("make a client: %w", err)
			}
			if clients[i], err = apiutil.RESTClientForGVK(kind, false, false, config, codecs, httpClient); err != nil {
				return nil, fmt.Errorf("make a client of %s: %w", resource, err)
			}
		}
		return &source{client: clients[0], pages: clients[1], resource: resource, codecs: codecs, parameters: runtime.NewParameterCodec(scheme), kept: kept}, nil
	}
	nodes, err := from(corev1.SchemeGroupVersion.WithKind("Node"), "nodes")
	if err != nil {
		return nil, err
	}
	reports, err := from(v1alpha1.GroupVersion.WithKind("NodeRuntime"), "noderuntimes")
	if err != nil {
		return nil, err
	}
	return func(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		switch object.(type) {
		case *corev1.Node:
			lw = newPagedListWatch(nodes.listNodes, toolscache.ToListerWatcherWithContext(lw).WatchWithContext)
		case *v1alpha1.NodeRuntime:
			lw = newPagedListWatch(reports.listReports, reports.watchReports)
		}
		return toolscache.NewSharedIndexInformer(lw, object, resync, indexers)
	}, nil
}

// A pagedListWatch lists at first, in pages, where client-go would start a watch
// with all there is: of custom resources that costs an API server (1.37) twice as
// much, of Nodes a quarter more, and each object is copied once more here.
type pagedListWatch struct{ *toolscache.ListWatch }

func newPagedListWatch(list toolscache.ListWithContextFunc, watch toolscache.WatchFuncWithContext) pagedListWatch {
	paged := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		if options.Limit > 0 {
			// Of any version but the newest API servers give all in one page.
			options.ResourceVersion, options.ResourceVersionMatch = "", ""
		}
		return list(ctx, options)
	}
	return pagedListWatch{&toolscache.ListWatch{ListWithContextFunc: paged, WatchFuncWithContext: watch}}
}

// IsWatchListSemanticsUnSupported is what client-go asks for that.
func (pagedListWatch) IsWatchListSemanticsUnSupported() bool { return true }

// A source reads the objects of a resource from an API server.
type source struct {
	client     rest.Interface
	pages      rest.Interface // for lists, over HTTP/1.1
	resource   string
	codecs     serializer.CodecFactory
	parameters runtime.ParameterCodec
	kept       *keeper
}

// bodies are of pages, of some megabytes each.
var bodies = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// putBody keeps a body for the next page, but for one of a list that came at once.
func putBody(body *bytes.Buffer) {
	const keep = 32 << 20
	if body.Cap() <= keep {
		bodies.Put(body)
	}
}

// page reads a page of a list by read, or else, where that fails, as client-go does,
// which then says what is wrong. The body is not to be kept.
func page[List runtime.Object](ctx context.Context, s *source, options *metav1.ListOptions, read func(body []byte) (List, error), whole func(List)) (runtime.Object, error) {
	stream, err := s.pages.Get().Resource(s.resource).VersionedParams(options, s.parameters).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	body := bodies.Get().(*bytes.Buffer)
	defer putBody(body)
	body.Reset()
	if _, err := body.ReadFrom(stream); err != nil {
		return nil, fmt.Errorf("read a page of %s: %w", s.resource, err)
	}
	if list, err := read(body.Bytes()); err == nil {
		return list, nil
	}
	object, err := runtime.Decode(s.codecs.UniversalDeserializer(), body.Bytes())
	if err != nil {
		return nil, fmt.Errorf("decode a page of %s: %w", s.resource, err)
	}
	switch object := object.(type) {
	case List:
		whole(object)
		return object, nil
	case *metav1.Status:
		return nil, apierrors.FromObject(object)
	}
	return nil, fmt.Errorf("a page of %s is a %T", s.resource, object)
}

func (s *source) listNodes(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return page(ctx, s, &options, s.kept.nodePage, func(list *corev1.NodeList) {
		for i := range list.Items {
			list.Items[i] = *s.kept.node(&list.Items[i])
		}
	})
}

func (s *source) listReports(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return page(ctx, s, &options, s.kept.reportPage, func(list *v1alpha1.NodeRuntimeList) {
		for i := range list.Items {
			list.Items[i] = *s.kept.report(&list.Items[i])
		}
	})
}

// reportPage reads a page of NodeRuntimes: what is equal of many is decoded once.
func (k *keeper) reportPage(body []byte) (*v1alpha1.NodeRuntimeList, error) {
	list := &v1alpha1.NodeRuntimeList{}
	if err := jsonv2.Unmarshal(body, list, jsontext.AllowDuplicateNames(true), k.leanly()); err != nil {
		return nil, err
	}
	if list.TypeMeta != typeOf("NodeRuntimeList") {
		return nil, fmt.Errorf("got a %s of %s", list.Kind, list.APIVersion)
	}
	for i := range list.Items {
		list.Items[i] = *k.lean(&list.Items[i])
	}
	if list.Continue == "" {
		k.handlers.forget()
		k.findings.forget()
		k.next.forget()
	}
	return list, nil
}

// leanly decodes NodeRuntimes to what is kept of their lists.
func (k *keeper) leanly() jsonv2.Options {
	k.once.Do(func() {
		k.unmarshalers = jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(
			sharing(&k.handlers, leanHandlers),
			sharing(&k.findings, func(findings []v1alpha1.Finding) []v1alpha1.Finding { return findings }),
			sharing(&k.next, func(names []string) []string { return names }),
			passOver[[]metav1.ManagedFieldsEntry](), passOver[*v1alpha1.Summary](),
			jsonv2.UnmarshalFromFunc(readTime),
		))
	})
	return k.unmarshalers
}

// sharing decodes values of a type to what is kept of them.
func sharing[T any](known *shared[T], lean func(T) T) *jsonv2.Unmarshalers {
	return jsonv2.UnmarshalFromFunc(func(from *jsontext.Decoder, to *T) error {
		raw, err := from.ReadValue()
		if err != nil {
			return err
		}
		*to, err = known.decoded(raw, func(raw []byte) (value T, err error) {
			err = jsonv2.Unmarshal(raw, &value, jsontext.AllowDuplicateNames(true))
			return known.of(lean(value)), err
		})
		return err
	})
}

// readTime decodes a time as metav1.Time does, which goes over it four times.
func readTime(from *jsontext.Decoder, to *metav1.Time) error {
	raw, err := from.ReadValue()
	if err != nil {
		return err
	}
	if raw.Kind() == '"' && bytes.IndexByte(raw, '\\') < 0 {
		read, err := time.Parse(time.RFC3339, string(raw[1:len(raw)-1]))
		to.Time = read.Local()
		return err
	}
	return to.UnmarshalJSON(raw)
}

// passOver decodes nothing of the values of a type.
func passOver[T any]() *jsonv2.Unmarshalers {
	return jsonv2.UnmarshalFromFunc(func(from *jsontext.Decoder, _ *T) error { return from.SkipValue() })
}
