package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A watchServer serves lists, and watches of NodeRuntimes in which it tells of the
// reports that are sent to it.
type watchServer struct {
	lists   *lintServer
	reports chan v1alpha1.NodeRuntime
}

func (s watchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Get("watch") == "":
		s.lists.ServeHTTP(w, r)
		return
	case query.Has("sendInitialEvents"):
		// As an API server that has no streamed lists.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"sendInitialEvents is forbidden"}`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case report := <-s.reportsOf(r.URL.Path):
			report.APIVersion, report.Kind = v1alpha1.GroupVersion.String(), "NodeRuntime"
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": report})
			w.(http.Flusher).Flush()
		}
	}
}

func (s watchServer) reportsOf(path string) chan v1alpha1.NodeRuntime {
	if path == reportsPath {
		return s.reports
	}
	return nil
}

// A growing buffer is written while it is read.
type growing struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (g *growing) Write(data []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.data.Write(data)
}

func (g *growing) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.data.String()
}

// TestStatusWatch: what changes is shown, what is only renewed is not, and the end
// is no error.
func TestStatusWatch(t *testing.T) {
	cluster := gpuCluster()
	server := watchServer{cluster, make(chan v1alpha1.NodeRuntime)}
	http := httptest.NewServer(server)
	defer http.Close()
	ctx, cancel := context.WithCancel(t.Context())
	out := &growing{}
	cmd := newRootCommand()
	cmd.SetArgs([]string{"status", "--watch", "--interval", "100ms", "--kubeconfig", kubeconfig(t, http.URL)})
	cmd.SetOut(out)
	cmd.SetErr(out)
	ended := make(chan error)
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	until(t, out, "nvidia  nvidia   1/2")
	renewed := cluster.objects[reportsPath][0].(v1alpha1.NodeRuntime)
	renewed.ResourceVersion = "2"
	server.reports <- renewed
	changed := *renewed.DeepCopy()
	changed.ResourceVersion, changed.Spec.Handlers = "3", []v1alpha1.Handler{{Name: "runc"}}
	server.reports <- changed
	until(t, out, "nvidia  nvidia   0/2")
	if n := strings.Count(out.String(), "RUNTIMECLASSES"); n != 2 {
		t.Errorf("shown %d times, want 2:\n%s", n, out)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("does not end")
	}
}

// TestStatusWatchLosesCluster: an API server that is gone is told of within seconds,
// as is one that is back; and the end is no error meanwhile.
func TestStatusWatchLosesCluster(t *testing.T) {
	handler := watchServer{gpuCluster(), make(chan v1alpha1.NodeRuntime)}
	server := httptest.NewServer(handler)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errs := &growing{}, &growing{}
	cmd := newRootCommand()
	cmd.SetArgs([]string{"status", "--watch", "--interval", "100ms", "--kubeconfig", kubeconfig(t, server.URL)})
	cmd.SetOut(out)
	cmd.SetErr(errs)
	ended := make(chan error)
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	until(t, out, "nvidia  nvidia   1/2")
	address := server.Listener.Addr().String()
	server.CloseClientConnections()
	server.Close()
	until(t, errs, "warning: the API server has not answered since ")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	again := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	again.Start()
	until(t, errs, "note: the API server answers again")
	again.CloseClientConnections()
	again.Close()
	until(t, errs, "connection refused)\nnote: the API server answers again: what is shown is current within a minute\nwarning: ")
	if strings.Contains(out.String(), "answer") {
		t.Error("stdout, which is no screen, tells of it")
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("does not end")
	}
}

// TestStatusShowsWhatIsLost: the screen says that it is no longer current.
func TestStatusShowsWhatIsLost(t *testing.T) {
	o := &statusOptions{output: "text"}
	cmd := newRootCommand()
	shown := &growing{}
	cmd.SetOut(shown)
	s := &status{Overview: &fleet.Overview{}}
	c := &contact{answered: statusTime}
	for _, err := range []error{nil, errors.New("connection refused"), nil} {
		c.heard(err, statusTime.Add(time.Hour))
		if err := o.show(&bytes.Buffer{}, cmd, s, statusTime, true, c.lost()); err != nil {
			t.Fatal(err)
		}
	}
	want := "\nthe API server has not answered since 2026-01-02T01:05:00Z: what is shown is of that time (connection refused)\n"
	if screens := strings.Split(shown.String(), "\x1b[2J"); len(screens) != 4 || strings.Contains(screens[1]+screens[3], "answer") || !strings.HasSuffix(screens[2], want+"\x1b[H") {
		t.Errorf("screens %q", screens)
	}
}

// until waits for a text.
func until(t *testing.T, out fmt.Stringer, text string) {
	t.Helper()
	for range 200 {
		if strings.Contains(out.String(), text) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no %q in:\n%s", text, out)
}

// TestStatusWatchWithoutCluster: what keeps it from watching is told at once.
func TestStatusWatchWithoutCluster(t *testing.T) {
	cluster := gpuCluster()
	cluster.codes[reportsPath] = http.StatusForbidden
	server := httptest.NewServer(cluster)
	defer server.Close()
	_, _, err := runCommand(t, "status", "--watch", "--kubeconfig", kubeconfig(t, server.URL))
	if err == nil || !strings.HasPrefix(err.Error(), "cannot list the NodeRuntimes of http") {
		t.Errorf("error %v", err)
	}
}
