package soak

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A node is one without a machine.
type node struct {
	name  string
	hints chan struct{}

	mu          sync.Mutex
	seen        *inventory.Observation // what its reporter sees
	restartedAt time.Time
	restartedIn *phase                // the phase that the restart fell into; nil once the watch has shown it
	written     *v1alpha1.NodeRuntime // what its reporter has written last
	failed      bool                  // its reporter's last write failed
}

func newNode(name string, seen *inventory.Observation) *node {
	n := &node{name: name, hints: make(chan struct{}, 1), seen: seen}
	seen.StartedAt = time.Now().Add(-time.Hour)
	return n
}

// restart lets the node's runtime start anew, with what it loads then.
func (n *node) restart(in *phase, loads inventory.Observation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.restartedAt, n.restartedIn = time.Now(), in
	loads.StartedAt = n.restartedAt
	n.seen = &loads
	select {
	case n.hints <- struct{}{}: // as for the new socket
	default:
	}
}

func (n *node) observe(context.Context) (*inventory.Observation, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	seen := *n.seen
	seen.At = time.Now()
	return &seen, nil
}

// wrote notes how a write of the reporter went.
func (n *node) wrote(report *v1alpha1.NodeRuntime, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed = err != nil
	if err == nil {
		n.written = report
	}
}

// watched notes what the watch shows of the node.
func (n *node) watched(report *v1alpha1.NodeRuntime) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.restartedIn != nil && n.isTrue(report) {
		n.restartedIn.restarts.add(time.Since(n.restartedAt))
		n.restartedIn = nil
	}
}

// isTrue tells whether a report is of the last start of the node's runtime.
func (n *node) isTrue(report *v1alpha1.NodeRuntime) bool {
	at := report.Spec.Runtime.StartedAt
	return at != nil && at.Unix() == n.seen.StartedAt.Unix() && len(report.Spec.Handlers) == len(n.seen.Loaded.Handlers)
}

// settled tells whether all that happened on the node has been written and seen.
func (n *node) settled() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.restartedIn == nil && n.written != nil && !n.failed
}

// observation is what a reporter sees on a node whose containerd has just loaded
// its files: runc, and the handlers named.
func observation(handlers ...string) (*inventory.Observation, error) {
	const plugin = "plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes"
	host := fstest.MapFS{
		"usr/bin/containerd-shim-runc-v2":  {Mode: 0o755},
		"usr/bin/runc":                     {Mode: 0o755},
		"usr/bin/nvidia-container-runtime": {Mode: 0o755},
		"etc/containerd/config.toml":       {Data: []byte("version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n")},
	}
	drop := "version = 3\n"
	for _, name := range handlers {
		drop += fmt.Sprintf("[%s.%s]\nruntime_type = 'io.containerd.runc.v2'\n", plugin, name)
		if strings.HasPrefix(name, "nvidia") {
			drop += fmt.Sprintf("[%s.%s.options]\nBinaryName = '/usr/bin/nvidia-container-runtime'\n", plugin, name)
		}
	}
	host["etc/containerd/conf.d/99-handlers.toml"] = &fstest.MapFile{Data: []byte(drop)}
	rt, err := config.ParseRuntime("containerd://2.4.2")
	if err != nil {
		return nil, err
	}
	opt := config.Options{Runtime: rt, Path: config.DefaultConfigPath}
	next, err := config.Load(hostfs.New(host), opt)
	if err != nil {
		return nil, err
	}
	seen := &inventory.Observation{
		Endpoint: "unix:///run/containerd/containerd.sock",
		Loaded: &config.Status{
			RuntimeName: config.Containerd, RuntimeVersion: "v2.4.2", CRI: next.Daemon.CRI,
			Features: map[string]config.HandlerFeatures{"runc": {RecursiveReadOnlyMounts: true, UserNamespaces: true}},
		},
		Next:     next,
		Programs: map[string]config.Runnability{},
	}
	prober := config.NewProber(hostfs.New(host), opt)
	for _, h := range seen.Loaded.Handlers {
		seen.Programs[h.Name] = prober.Probe(h)
	}
	return seen, nil
}
