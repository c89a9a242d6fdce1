package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// TestExampleNode: what the snapshot in docs/examples has of the node gpu-a is what the
// reporter publishes of a containerd 1.7 that was started with the node's files there,
// and had the handler nvidia before. UPDATE=1 prints it.
func TestExampleNode(t *testing.T) {
	at := time.Date(2026, 1, 2, 0, 4, 0, 0, time.UTC)
	rt, err := config.ParseRuntime("containerd://1.7.27")
	if err != nil {
		t.Fatal(err)
	}
	next, err := config.Load(hostfs.New(os.DirFS("docs/examples/node")), config.Options{Runtime: rt, Path: config.DefaultConfigPath, NoPrograms: true})
	if err != nil {
		t.Fatal(err)
	}
	report, err := inventory.FromStatus(&inventory.Observation{
		Endpoint: "unix:///run/containerd/containerd.sock", At: at, StartedAt: at.Add(-time.Hour), Next: next,
		Loaded: &config.Status{RuntimeName: rt.Name, RuntimeVersion: "v1.7.27", CRI: next.Daemon.CRI},
		Before: &v1alpha1.NodeRuntimeSpec{Source: v1alpha1.SourceCRI, Handlers: []v1alpha1.Handler{{Name: "nvidia"}, {Name: "runc"}}},
	}, "gpu-a")
	if err != nil {
		t.Fatal(err)
	}
	want, err := yaml.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") != "" {
		t.Logf("\n%s", want)
	}
	content, err := os.ReadFile("docs/examples/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		if !strings.Contains(document, "kind: NodeRuntime\n") || !strings.Contains(document, "name: gpu-a\n") {
			continue
		}
		var got v1alpha1.NodeRuntime
		if err := yaml.UnmarshalStrict([]byte(document), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(report, &got); diff != "" {
			t.Errorf("(-reported +in the snapshot):\n%s", diff)
		}
		return
	}
	t.Error("docs/examples/cluster.yaml has no NodeRuntime gpu-a")
}
