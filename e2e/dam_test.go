package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// A dam stands between a client and the API server. Until it is opened it holds
// back what is asked about nodes, and while it is frozen what is answered.
type dam struct {
	kubeconfig string // reaches the API server through the dam
	open       func()
	opened     chan struct{}
	held       atomic.Int32 // requests that had to wait
	frozen     sync.RWMutex // held by who freezes it
}

// An icicle is an answer that passes only while the dam is not frozen.
type icicle struct {
	http.ResponseWriter
	d *dam
}

func (i icicle) Write(p []byte) (int, error) {
	i.d.frozen.RLock()
	defer i.d.frozen.RUnlock()
	return i.ResponseWriter.Write(p)
}

// Unwrap lets an http.ResponseController reach what Write goes to.
func (i icicle) Unwrap() http.ResponseWriter { return i.ResponseWriter }

func newDam(t *testing.T, c *harness.Cluster) *dam {
	t.Helper()
	server := configured(t, c, "{.clusters[0].cluster.server}")
	token := configured(t, c, "{.users[0].user.token}") // clients send none over plain HTTP
	target, err := url.Parse(server)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = insecure.Transport
	proxy.FlushInterval = -1 // watches answer bit by bit

	d := &dam{opened: make(chan struct{}), kubeconfig: filepath.Join(c.Dir, "dam.kubeconfig")}
	d.open = sync.OnceFunc(func() { close(d.opened) })
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/nodes") {
			d.held.Add(1)
			select {
			case <-d.opened:
			case <-r.Context().Done():
				return
			}
			w = icicle{w, d}
		}
		r.Header.Set("Authorization", "Bearer "+token)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.Listener.Close()         // or the client comes back at once
		front.CloseClientConnections() // watches never end by themselves
		front.Close()
	})
	_, err = c.Must(interrupted, "", "kubectl", "config", "--kubeconfig="+d.kubeconfig, "set-cluster", "dam", "--server="+front.URL)
	must(t, err)
	_, err = c.Must(interrupted, "", "kubectl", "config", "--kubeconfig="+d.kubeconfig, "set-context", "dam", "--cluster=dam")
	must(t, err)
	_, err = c.Must(interrupted, "", "kubectl", "config", "--kubeconfig="+d.kubeconfig, "use-context", "dam")
	must(t, err)
	return d
}

// configured is a value of the admin's kubeconfig.
func configured(t *testing.T, c *harness.Cluster, path string) string {
	t.Helper()
	value, err := c.Must(interrupted, "", "kubectl", "config", "view", "--raw", "-o", "jsonpath="+path)
	must(t, err)
	return value
}
