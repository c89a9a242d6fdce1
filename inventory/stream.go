package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// watchReports watches NodeRuntimes at less cost than client-go 0.37 and
// controller-runtime 0.25 do: they read an event of a custom resource eight times
// over (frame, event, kind, object), here it is two.
func (s *source) watchReports(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch, options.AllowWatchBookmarks = true, true
	body, err := s.open(ctx, &options)
	if err != nil {
		return nil, err
	}
	failed := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding")
	return watch.NewStreamWatcher(newReportStream(body, s.codecs), failed), nil
}

// open starts a watch. As client-go's own, it tries again for a while where the
// connection breaks, as to an API server that restarts: after an error all would be
// listed anew.
func (s *source) open(ctx context.Context, options *metav1.ListOptions) (io.ReadCloser, error) {
	for again := 10; ; again-- {
		body, err := s.client.Get().Resource(s.resource).VersionedParams(options, s.parameters).Stream(ctx)
		if err == nil || again == 0 || !utilnet.IsProbableEOF(err) && !utilnet.IsTimeout(err) {
			return body, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// A reportStream reads the events of a watch of NodeRuntimes.
type reportStream struct {
	body   io.ReadCloser
	events *jsontext.Decoder
	others runtime.Decoder
}

func newReportStream(body io.ReadCloser, codecs serializer.CodecFactory) *reportStream {
	others := serializer.WithoutConversionCodecFactory{CodecFactory: codecs}.DecoderToVersion(codecs.UniversalDeserializer(), nil)
	// Whether the names and the text are as they should be is seen when it is decoded.
	events := jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return &reportStream{body: body, events: events, others: others}
}

// Decode implements watch.Decoder. What is not plainly an event of a NodeRuntime,
// an error say, is decoded as client-go does.
func (s *reportStream) Decode() (watch.EventType, runtime.Object, error) {
	raw, err := s.events.ReadValue()
	if err != nil {
		// The watch compares with this one, which jsontext wraps, what a connection
		// that breaks gives even twice.
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.ErrUnexpectedEOF
		}
		return "", nil, err
	}
	if kind, report := plainReport(raw); report != nil {
		return kind, report, nil
	}
	var event metav1.WatchEvent
	if err := json.Unmarshal(raw, &event); err != nil {
		return "", nil, fmt.Errorf("decode the event: %w", err)
	}
	if !isEvent(watch.EventType(event.Type)) {
		return "", nil, fmt.Errorf("got an event of type %q", event.Type)
	}
	object, err := runtime.Decode(s.others, event.Object.Raw)
	if err != nil {
		return "", nil, fmt.Errorf("decode the object of an event %q: %w", event.Type, err)
	}
	return watch.EventType(event.Type), object, nil
}

// plainReport decodes an event of a NodeRuntime, as the API server writes it. Of
// anything else it returns nil.
func plainReport(raw []byte) (watch.EventType, *v1alpha1.NodeRuntime) {
	var event struct {
		Type   watch.EventType       `json:"type"`
		Object *v1alpha1.NodeRuntime `json:"object"`
	}
	if err := jsonv2.Unmarshal(raw, &event, jsontext.AllowDuplicateNames(true)); err != nil || event.Object == nil || !isEvent(event.Type) {
		return "", nil
	}
	if event.Object.TypeMeta != typeOf("NodeRuntime") {
		return "", nil
	}
	event.Object.TypeMeta = metav1.TypeMeta{} // as of a typed client
	return event.Type, event.Object
}

func typeOf(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: name}
}

func isEvent(kind watch.EventType) bool {
	switch kind {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error:
		return true
	}
	return false
}

// Close implements watch.Decoder.
func (s *reportStream) Close() { s.body.Close() }
