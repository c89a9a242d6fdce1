package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

func streamCodecs(t testing.TB) serializer.CodecFactory {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	return serializer.NewCodecFactory(scheme)
}

// clientGo reads the events as client-go does: its decoder is the oracle.
func clientGo(t testing.TB, body string) watch.Decoder {
	t.Helper()
	codecs := streamCodecs(t)
	for _, info := range codecs.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeJSON {
			frames := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(strings.NewReader(body)))
			objects := serializer.WithoutConversionCodecFactory{CodecFactory: codecs}.DecoderToVersion(info.Serializer, nil)
			return restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), objects)
		}
	}
	t.Fatal("no JSON")
	return nil
}

const reportLine = `{"type":"ADDED","object":{"apiVersion":"runtimegate.io/v1alpha1","kind":"NodeRuntime","metadata":{"creationTimestamp":"2026-01-01T12:00:00Z","generation":3,` +
	`"managedFields":[{"apiVersion":"runtimegate.io/v1alpha1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:source":{}}},"manager":"reporter","operation":"Apply","time":"2026-01-01T12:00:00Z"}],` +
	`"name":"a","resourceVersion":"12","uid":"u"},"spec":{"cdi":{"enabled":true},"defaultHandler":"runc","findings":[{"code":"Expiring","handler":"kata","message":"gone \u003cnext\u003e","severity":"Error","file":"/etc/x","line":3}],` +
	`"handlers":[{"features":{"recursiveReadOnlyMounts":true},"name":"kata","shim":{"path":"/s","state":"Found"}},{"name":"runc","runtimeType":"io.containerd.runc.v2"}],` +
	`"next":{"defaultHandler":"runc","handlers":["runc"]},"observedAt":"2026-01-01T12:00:00Z","renewedAt":"2026-01-01T12:00:05Z","runtime":{"name":"containerd","startedAt":"2025-12-01T00:00:00Z","version":"v2.4.2"},"source":"CRI"}}}`

// streamed are what an API server may send: each must be taken as client-go takes it.
var streamed = map[string]string{
	"a report":                reportLine,
	"two":                     reportLine + "\n" + strings.Replace(reportLine, "ADDED", "MODIFIED", 1) + "\n",
	"deleted":                 strings.Replace(reportLine, "ADDED", "DELETED", 1),
	"a bookmark":              `{"type":"BOOKMARK","object":{"kind":"NodeRuntime","apiVersion":"runtimegate.io/v1alpha1","metadata":{"resourceVersion":"7","creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"source":"","renewedAt":null}}}`,
	"an error":                `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}}`,
	"another kind":            `{"type":"ADDED","object":{"kind":"NodeRuntimeList","apiVersion":"runtimegate.io/v1alpha1","metadata":{},"items":[]}}`,
	"unknown fields":          strings.Replace(reportLine, `"spec":{`, `"status":{"x":1},"spec":{"future":[{"a":null}],`, 1),
	"a field in other case":   strings.Replace(reportLine, `"defaultHandler":"runc","findings"`, `"DefaultHandler":"runc","findings"`, 1),
	"a name twice":            strings.Replace(reportLine, `"spec":{`, `"spec":{"source":"Dump",`, 1),
	"nulls":                   strings.Replace(reportLine, `"cdi":{"enabled":true},"defaultHandler":"runc"`, `"cdi":null,"defaultHandler":null`, 1),
	"a wrong type":            strings.Replace(reportLine, `"defaultHandler":"runc"`, `"defaultHandler":7`, 1),
	"a wrong time":            strings.Replace(reportLine, "2026-01-01T12:00:05Z", "yesterday", 1),
	"a time with a fraction":  strings.Replace(reportLine, "2026-01-01T12:00:05Z", "2026-01-01T12:00:05.25+01:00", 1),
	"no UTF-8":                strings.Replace(reportLine, `"name":"a"`, "\"name\":\"a\xff\"", 1),
	"no object":               `{"type":"ADDED"}`,
	"object null":             `{"type":"ADDED","object":null}`,
	"no type":                 strings.Replace(reportLine, `"type":"ADDED",`, "", 1),
	"an unknown type":         strings.Replace(reportLine, "ADDED", "RENAMED", 1),
	"no JSON":                 "oops",
	"cut off":                 reportLine[:200],
	"cut off in the second":   reportLine + "\n" + reportLine[:200],
	"without a version":       strings.Replace(reportLine, `"apiVersion":"runtimegate.io/v1alpha1","kind"`, `"kind"`, 1),
	"of a version to come":    strings.Replace(reportLine, `"apiVersion":"runtimegate.io/v1alpha1","kind"`, `"apiVersion":"runtimegate.io/v1","kind"`, 1),
	"nothing":                 "",
	"an end of line too many": "\n\n" + reportLine + "\n\n",
}

func TestReportStreamIsAsClientGo(t *testing.T) {
	for name, body := range streamed {
		t.Run(name, func(t *testing.T) { compareStreams(t, body) })
	}
}

func compareStreams(t *testing.T, body string) {
	t.Helper()
	ours, theirs := newReportStream(io.NopCloser(strings.NewReader(body)), streamCodecs(t)), clientGo(t, body)
	for range 5 {
		kind, object, err := ours.Decode()
		wantKind, want, wantErr := theirs.Decode()
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%.400q: got error %v, want %v", body, err, wantErr)
		}
		if err != nil {
			if errors.Is(err, io.EOF) != errors.Is(wantErr, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) != errors.Is(wantErr, io.ErrUnexpectedEOF) {
				t.Errorf("%.400q: got error %v, want %v", body, err, wantErr)
			}
			return
		}
		if kind != wantKind {
			t.Errorf("%.400q: got %s, want %s", body, kind, wantKind)
		}
		if diff := cmp.Diff(want, object); diff != "" {
			t.Errorf("%.400q: %s", body, diff)
		}
	}
}

// TestPlainReportsAreReadAtOnce: not by the way that is there for all else.
func TestPlainReportsAreReadAtOnce(t *testing.T) {
	for _, name := range []string{"a report", "deleted", "a bookmark", "unknown fields"} {
		if _, report := plainReport([]byte(streamed[name])); report == nil {
			t.Errorf("%s: not read at once", name)
		}
	}
}

func FuzzReportStream(f *testing.F) {
	for _, body := range streamed {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if kind, report := plainReport([]byte(body)); report != nil {
			wantKind, want, err := clientGo(t, body).Decode()
			if err != nil {
				t.Fatalf("%q: read, where client-go says %v", body, err)
			}
			if diff := cmp.Diff(want, runtime.Object(report)); diff != "" || kind != wantKind {
				t.Fatalf("%q: %s, want %s; %s", body, kind, wantKind, diff)
			}
		}
	})
}

// BenchmarkReportStream compares an event of a usual report with client-go's way.
func BenchmarkReportStream(b *testing.B) {
	now := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	report := &v1alpha1.NodeRuntime{}
	var event metav1.WatchEvent
	if err := errors.Join(json.Unmarshal([]byte(reportLine), &event), json.Unmarshal(event.Object.Raw, report)); err != nil {
		b.Fatal(err)
	}
	var named strings.Builder
	for i := range 70 {
		fmt.Fprintf(&named, `"f:field%d":{},`, i)
	}
	fields := metav1.NewFieldsV1(`{"f:spec":{` + named.String() + `".":{}}}`)
	report.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "reporter", Operation: "Apply", APIVersion: "v1", Time: &now, FieldsType: "FieldsV1", FieldsV1: fields}}
	raw, err := json.Marshal(report)
	if err != nil {
		b.Fatal(err)
	}
	line := `{"type":"ADDED","object":` + string(raw) + "}\n"
	lines := strings.Repeat(line, 1000)
	for name, open := range map[string]func() watch.Decoder{
		"runtimegate": func() watch.Decoder {
			return newReportStream(io.NopCloser(strings.NewReader(lines)), streamCodecs(b))
		},
		"client-go": func() watch.Decoder { return clientGo(b, lines) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			decoder := open()
			for range b.N {
				_, _, err := decoder.Decode()
				if errors.Is(err, io.EOF) {
					decoder = open()
				} else if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
