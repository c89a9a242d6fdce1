package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// stuckPod is a Pod of report 36 that hangs on a node, and its Event.
const stuckPod = `---
apiVersion: v1
kind: Pod
metadata: {name: stuck, namespace: default, uid: "1"}
spec: {nodeName: %[1]q, runtimeClassName: nvidia, containers: [{name: main, image: app}]}
---
apiVersion: v1
kind: Event
metadata: {name: stuck.1, namespace: default}
involvedObject: {kind: Pod, name: stuck, namespace: default}
reason: FailedCreatePodSandBox
message: 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "1": plugin type="gke" failed (add): failed to find plugin "gke" in path [/opt/cni/bin]'
source: {component: kubelet, host: %[1]q}
`

// report is what the reporter of a node would publish: what its runtime has loaded,
// and what the report's files say beside it.
func (r *whyReport) report(t *testing.T, n *reportNode) *v1alpha1.NodeRuntime {
	t.Helper()
	name, version, _ := strings.Cut(n.Runtime, "://")
	renewed := reportTime.Add(-time.Duration(n.ReportAgeSeconds) * time.Second)
	seen := &inventory.Observation{
		Endpoint: "unix:///run/containerd/containerd.sock", NextUnknown: "the report has no files of it", At: renewed, StartedAt: renewed.Add(-time.Hour),
		Loaded: &config.Status{RuntimeName: name, RuntimeVersion: version, CRI: config.CRI{DefaultHandler: n.DefaultHandler}},
	}
	var written *config.CRI
	if r.root != "" {
		written = r.look(t, n, seen)
	}
	for _, loaded := range n.Loaded {
		h := config.Handler{Name: loaded, RuntimeType: "io.containerd.runc.v2"}
		if written != nil {
			if w, ok := written.Handler(loaded); ok {
				h = w
			}
		}
		seen.Loaded.Handlers = append(seen.Loaded.Handlers, h)
	}
	seen.Loaded.Sort()
	seen.Before = r.before(t, n)
	report, err := inventory.FromStatus(seen, n.Name)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// look reads the files and looks for the programs of a node.
func (r *whyReport) look(t *testing.T, n *reportNode, seen *inventory.Observation) *config.CRI {
	t.Helper()
	root, path := r.host(t)
	host := hostfs.New(os.DirFS(root))
	rt, err := config.ParseRuntime(n.version())
	if err != nil {
		t.Fatal(err)
	}
	at := config.Locate(host, rt.Name)
	if len(at) == 0 {
		t.Fatal("no configuration found")
	}
	seen.Endpoint = "unix://" + at[0].Socket
	opt := config.Options{Runtime: rt, Path: at[0].Path, PathOptional: !at[0].Told, SearchPath: path}
	if seen.Next, err = config.Load(host, opt); err != nil {
		t.Fatal(err)
	}
	prober := config.NewProber(host, opt)
	seen.Programs = map[string]config.Runnability{}
	for _, h := range seen.Next.Daemon.CRI.Handlers {
		if slices.Contains(n.Loaded, h.Name) {
			seen.Programs[h.Name] = prober.Probe(h)
		}
	}
	return &seen.Next.Daemon.CRI
}

// before is what the node has published before the last start of its runtime, where
// the report says so.
func (r *whyReport) before(t *testing.T, n *reportNode) *v1alpha1.NodeRuntimeSpec {
	t.Helper()
	path := filepath.Join(reportsDir, r.dir, "inventory-before.yaml")
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	var inv reportInventory
	readYAMLFile(t, path, &inv)
	spec := &v1alpha1.NodeRuntimeSpec{Source: v1alpha1.SourceCRI}
	for i := range inv.Nodes {
		if inv.Nodes[i].Name == n.Name {
			for _, name := range inv.Nodes[i].Loaded {
				spec.Handlers = append(spec.Handlers, v1alpha1.Handler{Name: name})
			}
		}
	}
	return spec
}

func readYAMLFile(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
