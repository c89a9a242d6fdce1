package inventory

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// startInformer reads NodeRuntimes of a server that answers as an API server may, to
// which a real one cannot be brought at will. It returns what is kept, and the errors
// that are told.
func startInformer(t *testing.T, answer http.HandlerFunc) (toolscache.SharedIndexInformer, <-chan error) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return startInformerOf(t, &rest.Config{Host: server.URL})
}

func startInformerOf(t *testing.T, config *rest.Config) (toolscache.SharedIndexInformer, <-chan error) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	newOne, err := newInformer(config, scheme, &keeper{})
	if err != nil {
		t.Fatal(err)
	}
	informer := newOne(nil, &v1alpha1.NodeRuntime{}, 0, toolscache.Indexers{})
	told := make(chan error, 100)
	err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *toolscache.Reflector, err error) { told <- err })
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return informer, told
}

func answerStatus(w http.ResponseWriter, code int, status string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":%d,%s}`, code, status)
}

func answerList(w http.ResponseWriter, next string, names ...string) {
	items := make([]string, len(names))
	for i, name := range names {
		items[i] = fmt.Sprintf(`{"apiVersion":"runtimegate.io/v1alpha1","kind":"NodeRuntime","metadata":{"name":%q,"resourceVersion":"1"},"spec":{"source":"CRI","renewedAt":"2026-01-01T12:00:00Z"}}`, name)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"apiVersion":"runtimegate.io/v1alpha1","kind":"NodeRuntimeList","metadata":{"resourceVersion":"9","continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
}

// TestListGoesOnWhenAPageHasExpired: where reading all pages takes longer than the API
// server keeps what they are of, it is all read at once, as client-go does.
func TestListGoesOnWhenAPageHasExpired(t *testing.T) {
	informer, told := startInformer(t, func(w http.ResponseWriter, r *http.Request) {
		switch query := r.URL.Query(); {
		case query.Has("watch"):
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case query.Has("continue"):
			answerStatus(w, http.StatusGone, `"reason":"Expired","message":"The provided continue parameter is too old"`)
		case query.Has("limit"):
			answerList(w, "more", "a", "b")
		default:
			answerList(w, "", "a", "b", "c")
		}
	})
	select {
	case <-informer.HasSyncedChecker().Done():
	case err := <-told:
		t.Fatal(err)
	}
	if kept := informer.GetStore().ListKeys(); len(kept) != 3 {
		t.Errorf("kept %q", kept)
	}
}

// TestPagesComeOverHTTP1: and the watch over HTTP/2, whose pings show that a connection
// is dead.
func TestPagesComeOverHTTP1(t *testing.T) {
	versions := make(chan string, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("watch") {
			versions <- "list " + r.Proto
			answerList(w, "", "a")
			return
		}
		versions <- "watch " + r.Proto
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	startInformerOf(t, &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	for _, want := range []string{"list HTTP/1.1", "watch HTTP/2.0"} {
		if got := <-versions; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestListTellsWhatTheAPIServerSays: also where it says it with 200, as a proxy may: no
// list of nothing is taken from that.
func TestListTellsWhatTheAPIServerSays(t *testing.T) {
	const said = `noderuntimes.runtimegate.io is forbidden: User "serve" cannot list`
	for _, code := range []int{http.StatusForbidden, http.StatusOK} {
		informer, told := startInformer(t, func(w http.ResponseWriter, _ *http.Request) {
			answerStatus(w, code, fmt.Sprintf(`"reason":"Forbidden","message":%q`, said))
		})
		select {
		case <-informer.HasSyncedChecker().Done():
			t.Errorf("%d: took it for a list", code)
		case err := <-told:
			if !strings.Contains(err.Error(), said) {
				t.Errorf("%d: got %v", code, err)
			}
		}
	}
}

// TestWatchGoesOn: a connection that breaks as a watch starts, or in the midst of an
// event, does not have all listed anew.
func TestWatchGoesOn(t *testing.T) {
	for name, broken := range map[string]func(w http.ResponseWriter){
		"as it starts": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"in an event": func(w http.ResponseWriter) {
			fmt.Fprint(w, reportLine[:200])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"behind an event": func(w http.ResponseWriter) {
			fmt.Fprintln(w, reportLine)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lists, watches atomic.Int32
			watched := make(chan struct{})
			_, told := startInformer(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case !r.URL.Query().Has("watch"):
					lists.Add(1)
					answerList(w, "", "a")
				case watches.Add(1) == 1:
					time.Sleep(time.Second) // what ends sooner is taken for a fault
					broken(w)
				default:
					w.WriteHeader(http.StatusOK)
					w.(http.Flusher).Flush()
					close(watched)
					<-r.Context().Done()
				}
			})
			select {
			case <-watched:
			case err := <-told:
				t.Fatal(err)
			}
			if lists.Load() != 1 {
				t.Errorf("listed %d times", lists.Load())
			}
		})
	}
}
