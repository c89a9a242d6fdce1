package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/runtimegate/runtimegate/webhook/certs"
)

// idleTimeout is longer than that of API servers (90 seconds, client-go's
// SetTransportDefaults), so that it is they who close an idle connection.
const idleTimeout = 3 * time.Minute

// A webhookServer loses no call when it ends. An API server speaks HTTP/1.1 to a
// Service and keeps its connections open. A call that it sends on one that is
// just being closed fails: Go's http.Transport repeats no POST of which a byte
// was written. So this server, once told to end, closes connections only after an
// answer, and waits until API servers have closed those that they leave idle.
type webhookServer struct {
	crwebhook.Server // holds the paths; its own Start is not used
	address          string
	source           certs.Source
	keep             func(context.Context) error // the certificate
	log              logr.Logger
	ending           <-chan struct{}
	listening        atomic.Bool
	mu               sync.Mutex
	connections      map[net.Conn]bool // that are open, but for HTTP/2
}

func newWebhookServer(address string, source certs.Source, keep func(context.Context) error, ending <-chan struct{}, log logr.Logger) *webhookServer {
	return &webhookServer{
		Server: crwebhook.NewServer(crwebhook.Options{}), address: address,
		source: source, keep: keep, log: log.WithName("webhook"), ending: ending,
		connections: map[net.Conn]bool{},
	}
}

// Register has each answer end its connection once the server is ending. Over
// HTTP/2 this header makes Go's server send GOAWAY.
func (s *webhookServer) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.isEnding() {
			w.Header().Set("Connection", "close")
		}
		hook.ServeHTTP(w, r)
	}))
}

// Start serves until ctx is done, and then answers what is under way. The manager
// starts webhooks before caches: so there is a certificate as soon as there can
// be one.
func (s *webhookServer) Start(ctx context.Context) error {
	listener, err := tls.Listen("tcp", s.address, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: s.source,
	})
	if err != nil {
		return err
	}
	mux := s.WebhookMux()
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			growStack(0)
			mux.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 32 * time.Second, // as controller-runtime has it
		IdleTimeout:       idleTimeout,
		ConnState:         s.note,
		ErrorLog:          slog.NewLogLogger(logr.ToSlogHandler(s.log), slog.LevelInfo),
	}
	keeping, stop := context.WithCancel(ctx)
	defer stop()
	kept, ended := make(chan error, 1), make(chan error, 1)
	go func() { kept <- s.keep(keeping) }()
	go func() {
		<-ctx.Done()
		late, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		ended <- server.Shutdown(late)
	}()
	s.listening.Store(true)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	stop()
	return errors.Join(<-ended, <-kept)
}

// growStack has the stack of its goroutine grow at once to what a review takes, while
// there is little on it to move. Over HTTP/2 each request has a goroutine of its own,
// whose stack would otherwise grow three times on the way, deeper each time: an
// eighth of a request (Go 1.26).
//
//go:noinline
func growStack(at int) byte {
	var room [10 << 10]byte
	room[at] = 1
	return room[at/2]
}

// note keeps account of connections. Over HTTP/2 ending is no matter: GOAWAY says
// which calls to send again.
func (s *webhookServer) note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.connections[c] = true
	case http.StateActive:
		if secure, ok := c.(*tls.Conn); ok && secure.ConnectionState().NegotiatedProtocol == "h2" {
			delete(s.connections, c)
		}
	case http.StateClosed, http.StateHijacked:
		delete(s.connections, c)
	}
}

// ready is a readiness check. While the server is ending it says so to load
// balancers that go by it.
func (s *webhookServer) ready(r *http.Request) error {
	switch {
	case s.isEnding():
		return errors.New("ending")
	case !s.listening.Load():
		return errors.New("not listening yet")
	}
	return s.source.Ready(r)
}

func (s *webhookServer) isEnding() bool {
	select {
	case <-s.ending:
		return true
	default:
		return false
	}
}

// untilEnd returns a context that is done when the server may end: a while after
// it is told to, and when its connections are closed, or another while is over.
func (s *webhookServer) untilEnd(delay, drain time.Duration) context.Context {
	end, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		<-s.ending
		time.Sleep(delay)
		for deadline := time.Now().Add(drain); time.Now().Before(deadline) && s.open() > 0; {
			time.Sleep(min(100*time.Millisecond, drain))
		}
		if n := s.open(); n > 0 && drain > 0 {
			s.log.Info("Ending with open connections", "connections", n, "drained", drain.String())
		}
	}()
	return end
}

func (s *webhookServer) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.connections)
}
