package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"time"

	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/runtimegate/runtimegate/webhook/certs"
)

// A webhookServer serves while it is told to end, but lets go of its clients: an
// API server keeps connections open, over HTTP/1.1 to a Service, and what it
// sends on one that is just being closed fails (Go's http.Transport repeats no
// POST of which a byte was written).
type webhookServer struct {
	crwebhook.Server
	ending <-chan struct{}
	keep   func(context.Context) error // the certificate
}

func newWebhookServer(options crwebhook.Options, ending <-chan struct{}, source certs.Source, keep func(context.Context) error) *webhookServer {
	options.TLSOpts = append(options.TLSOpts, func(c *tls.Config) { c.GetCertificate = source })
	return &webhookServer{Server: crwebhook.NewServer(options), ending: ending, keep: keep}
}

// Register has each answer end its connection once the server is ending. Over
// HTTP/2 this header makes Go's server send GOAWAY.
func (s *webhookServer) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.checkEnding(r) != nil {
			w.Header().Set("Connection", "close")
		}
		hook.ServeHTTP(w, r)
	}))
}

// Start serves until ctx is done. The manager starts webhooks before caches: so
// there is a certificate as soon as there can be one.
func (s *webhookServer) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kept := make(chan error, 1)
	go func() { kept <- s.keep(ctx) }()
	err := s.Server.Start(ctx)
	cancel()
	return errors.Join(err, <-kept)
}

// checkEnding is a readiness check, for load balancers that go by it.
func (s *webhookServer) checkEnding(*http.Request) error {
	select {
	case <-s.ending:
		return errors.New("ending")
	default:
		return nil
	}
}

// delayed returns a context that ends a while after the given one.
func delayed(ctx context.Context, delay time.Duration) context.Context {
	if delay <= 0 {
		return ctx
	}
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(delay, cancel) })
	return late
}
