package e2e

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// A dam stands between a client and the API server and lets nothing through
// until it is opened.
type dam struct {
	kubeconfig string // reaches the API server through the dam
	server     string
	opened     chan struct{}
	open       func()
	waiting    atomic.Int32
}

func newDam(t *testing.T, c *harness.Cluster) *dam {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	url, err := c.Must(interrupted, "", "kubectl", "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
	must(t, err)
	config, err := os.ReadFile(c.Kubeconfig())
	must(t, err)
	d := &dam{
		kubeconfig: filepath.Join(c.Dir, "dam.kubeconfig"),
		server:     strings.TrimPrefix(url, "https://"),
		opened:     make(chan struct{}),
	}
	d.open = sync.OnceFunc(func() { close(d.opened) })
	t.Cleanup(d.open)
	through := strings.ReplaceAll(string(config), d.server, listener.Addr().String())
	must(t, os.WriteFile(d.kubeconfig, []byte(through), 0o600))
	go d.serve(listener)
	return d
}

// held is how many connections have come.
func (d *dam) held() int { return int(d.waiting.Load()) }

func (d *dam) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return // the test is over
		}
		d.waiting.Add(1)
		go d.pass(client)
	}
}

func (d *dam) pass(client net.Conn) {
	defer client.Close()
	<-d.opened
	server, err := net.Dial("tcp", d.server)
	if err != nil {
		return // the client sees its connection end
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}
