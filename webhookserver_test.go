package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/runtimegate/runtimegate/webhook/certs"
)

// A server that is to end answers on the connections it has, and ends when its
// clients have closed those over HTTP/1.1: by an answer that says so, or since
// they were idle for too long.
func TestAServerEndsAfterItsClients(t *testing.T) {
	pair, err := certs.NewPair([]string{"127.0.0.1"}, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	told := make(chan struct{})
	nothing := func(ctx context.Context) error { <-ctx.Done(); return nil }
	s := newWebhookServer(address, certs.Fixed(pair), nothing, told, logr.Discard())
	s.Register("/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
	if s.ready(nil) == nil {
		t.Error("it is ready before it listens")
	}
	end := s.untilEnd(0, time.Hour)
	ended := make(chan error, 1)
	go func() { ended <- s.Start(end) }()
	for s.ready(nil) != nil {
		time.Sleep(time.Millisecond)
	}

	busy, idle, modern := newHTTPClient(false), newHTTPClient(false), newHTTPClient(true)
	for _, client := range []*http.Client{busy, idle, modern} {
		if closes := ask(t, client, address); closes {
			t.Error("a connection is ended though the server is not")
		}
	}
	if n := s.open(); n != 2 {
		t.Errorf("%d connections are open, want 2 over HTTP/1.1", n)
	}
	close(told)
	if s.ready(nil) == nil {
		t.Error("it is ready though it is to end")
	}
	if closes := ask(t, busy, address); !closes {
		t.Error("an answer does not end its connection")
	}
	if closes := ask(t, modern, address); closes {
		t.Error("over HTTP/2 there is no such header")
	}
	for s.open() > 1 {
		time.Sleep(time.Millisecond)
	}
	if end.Err() != nil {
		t.Error("it ends though a connection is open")
	}
	idle.CloseIdleConnections()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func newHTTPClient(modern bool) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: modern}
	return &http.Client{Transport: transport}
}

// ask says whether the answer ends its connection.
func ask(t *testing.T, client *http.Client, address string) (closes bool) {
	t.Helper()
	response, err := client.Get("https://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "answer" {
		t.Fatalf("got %q, %v", body, err)
	}
	if want := map[bool]int{false: 1, true: 2}[client.Transport.(*http.Transport).ForceAttemptHTTP2]; response.ProtoMajor != want {
		t.Fatalf("got HTTP/%d, want %d", response.ProtoMajor, want)
	}
	return response.Close
}
