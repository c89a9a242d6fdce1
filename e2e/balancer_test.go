package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// A balancer forwards each connection to one of the gates that are ready, as a
// Service does: connections that are open stay as they are.
type balancer struct {
	address     string
	connections atomic.Int32
	mu          sync.Mutex
	gates       []*harness.Gate
	ready       []*harness.Gate
	turn        int
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	b := &balancer{address: listener.Addr().String()}
	ctx, stop := context.WithCancel(interrupted)
	var group sync.WaitGroup
	group.Go(func() { b.probe(ctx) })
	group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			group.Go(func() { b.forward(ctx, client) })
		}
	})
	t.Cleanup(func() {
		stop()
		listener.Close()
		group.Wait()
	})
	return b
}

// set says which gates there are.
func (b *balancer) set(gates ...*harness.Gate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gates = slices.Clone(gates)
	b.ready = slices.DeleteFunc(slices.Clone(b.ready), func(g *harness.Gate) bool { return !slices.Contains(gates, g) })
}

// probe finds out which gates are ready, again and again.
func (b *balancer) probe(ctx context.Context) {
	for ctx.Err() == nil {
		b.mu.Lock()
		gates := b.gates
		b.mu.Unlock()
		var ready []*harness.Gate
		for _, g := range gates {
			if status, _, err := g.Probe(ctx, "/readyz"); err == nil && status == http.StatusOK {
				ready = append(ready, g)
			}
		}
		b.mu.Lock()
		b.ready = ready
		b.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// next is the gate whose turn it is, or nil.
func (b *balancer) next() *harness.Gate {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ready) == 0 {
		return nil
	}
	b.turn++
	return b.ready[b.turn%len(b.ready)]
}

func (b *balancer) forward(ctx context.Context, client net.Conn) {
	defer client.Close()
	gate := b.next()
	if gate == nil {
		return
	}
	server, err := net.Dial("tcp4", gate.Webhook)
	if err != nil {
		return
	}
	defer server.Close()
	b.connections.Add(1)
	defer context.AfterFunc(ctx, func() { client.Close(); server.Close() })()
	done := make(chan struct{}, 2)
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)           // an end is an end, however it comes
		_ = to.(*net.TCPConn).CloseWrite() // the other direction may go on
		done <- struct{}{}
	}
	go pipe(server, client)
	go pipe(client, server)
	<-done
	<-done
}
