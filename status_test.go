package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook"
)

// statusTime is when the clusters of these tests are looked at.
var statusTime = time.Date(2026, 1, 2, 0, 5, 0, 0, time.UTC)

// statusCluster makes the objects of a cluster of n nodes in four pools, with what
// goes wrong in one of that size: nodes that have not been restarted, that will lose
// a handler, that lack a shim, that have not told, that are cordoned or were not looked
// at.
func statusCluster(n int) (objects []runtime.Object) {
	pools := []struct{ name, runtime, version, handler string }{
		{"cpu", "containerd", "v2.4.2", ""}, {"gpu", "containerd", "v1.7.27", "nvidia"},
		{"kata", "containerd", "v2.3.4", "kata-qemu"}, {"sandbox", "cri-o", "1.33.2", "runsc"},
	}
	for i := range n {
		p := pools[[]int{0, 0, 0, 0, 0, 1, 1, 1, 2, 3}[i%10]]
		name := fmt.Sprintf("%s-%04d", p.name, i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(statusTime.Add(-30 * 24 * time.Hour)), Labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "pool": p.name,
			"topology.kubernetes.io/zone": fmt.Sprintf("zone-%d", i%3), "node.kubernetes.io/instance-type": "m7.4xlarge",
		}}}
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
		if i%80 == 20 {
			node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
		}
		node.Status.NodeInfo.ContainerRuntimeVersion = p.runtime + "://" + strings.TrimPrefix(p.version, "v")
		objects = append(objects, node)
		if i%97 == 13 {
			continue // silent
		}
		objects = append(objects, statusReport(name, p.runtime, p.version, p.handler, i))
	}
	for class, handler := range map[string]string{"nvidia": "nvidia", "kata": "kata-qemu", "gvisor": "runsc", "nvidia-cdi": "nvidia-cdi"} {
		c := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Handler: handler}
		if pool := map[string]string{"nvidia": "gpu", "kata": "kata", "gvisor": "sandbox"}[class]; pool != "" {
			c.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{"pool": pool}}
		}
		objects = append(objects, c)
	}
	return objects
}

// statusReport makes a report in which something is wrong for some i.
func statusReport(name, program, version, handler string, i int) *v1alpha1.NodeRuntime {
	report := &v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{Name: name}}
	started, renewed := metav1.NewTime(statusTime.Add(-time.Hour)), metav1.NewTime(statusTime.Add(-time.Duration(i%280)*time.Second))
	low := map[string]string{"containerd": "runc", "cri-o": "crun"}[program]
	spec := v1alpha1.NodeRuntimeSpec{
		Runtime:        v1alpha1.Runtime{Name: program, Version: version, Endpoint: "unix:///run/" + program + "/" + program + ".sock", StartedAt: &started},
		DefaultHandler: low, Source: v1alpha1.SourceCRI, ObservedAt: renewed, RenewedAt: renewed,
		Next: &v1alpha1.Next{Handlers: []string{low}, DefaultHandler: low},
	}
	add := func(name string, state v1alpha1.ProgramState) {
		spec.Handlers = append(spec.Handlers, v1alpha1.Handler{
			Name: name, RuntimeType: "io.containerd.runc.v2", Origin: "/etc/" + program + "/conf.d/99-" + name + ".toml:4",
			Shim: &v1alpha1.Program{Path: "/usr/bin/containerd-shim-" + name + "-v2", State: state}, Features: &v1alpha1.Features{UserNamespaces: true},
		})
	}
	find := func(code string, severity v1alpha1.Severity, message string) {
		spec.Findings = append(spec.Findings, v1alpha1.Finding{Code: code, Severity: severity, Handler: handler, File: "/etc/" + program + "/conf.d/99-" + handler + ".toml", Line: 4, Message: fmt.Sprintf(message, handler)})
	}
	switch {
	case i%53 == 7:
		spec.RenewedAt = metav1.NewTime(statusTime.Add(-2 * time.Hour))
		fallthrough
	default:
		if handler != "" {
			add(handler, v1alpha1.ProgramFound)
			spec.Next.Handlers = append(spec.Next.Handlers, handler)
		}
	case handler == "":
	case i%20 == 5:
		find(v1alpha1.FindingRestartPending, v1alpha1.SeverityWarning, "handler %q is defined, but the runtime has not loaded it: restart it")
		spec.Next.Handlers = append(spec.Next.Handlers, handler)
	case i%20 == 6:
		add(handler, v1alpha1.ProgramFound)
		find(v1alpha1.FindingExpiring, v1alpha1.SeverityError, "handler %q is loaded, but the next restart of the runtime takes it away: a later file replaces the section; mend the files before the node reboots")
	case i%20 == 8:
		add(handler, v1alpha1.ProgramNotFound)
		find(v1alpha1.FindingBroken, v1alpha1.SeverityWarning, "handler %q: its shim is not there: no such file; install it")
		spec.Next.Handlers = append(spec.Next.Handlers, handler)
	case i%40 == 17:
		find(v1alpha1.FindingHandlerLost, v1alpha1.SeverityError, "handler %q was loaded before the last start of the runtime, and is not any more: no file defines it any more")
	}
	if i%90 == 30 {
		add(low, v1alpha1.ProgramUnchecked)
	} else {
		add(low, v1alpha1.ProgramFound)
	}
	if i%83 == 10 {
		spec.Findings = append(spec.Findings, v1alpha1.Finding{Code: v1alpha1.FindingRuntimeUnreachable, Severity: v1alpha1.SeverityError, Message: "the runtime does not answer: connection refused"})
	}
	report.Spec = spec
	return report
}

// savedCluster is a snapshot of such a cluster, as --save writes it.
func savedCluster(t testing.TB, n int) string {
	t.Helper()
	state := webhook.NewState(webhook.Options{Inventory: inventory.DefaultOptions})
	for _, object := range statusCluster(n) {
		if err := state.Apply(object); err != nil {
			t.Fatal(err)
		}
	}
	view := &clusterView{state: state, time: statusTime, notes: &strings.Builder{}}
	path := filepath.Join(t.TempDir(), "cluster.json")
	if err := view.save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

const statusSnapshot = "testdata/status/cluster.json"

// TestStatus compares what is told of testdata/status/cluster.json, a cluster of 60
// nodes, with the files beside it (UPDATE=1 writes all of them anew).
func TestStatus(t *testing.T) {
	update := os.Getenv("UPDATE") != ""
	if update {
		data, err := os.ReadFile(savedCluster(t, 60))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(statusSnapshot, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, form := range []string{"text", "wide", "yaml", "html"} {
		t.Run(form, func(t *testing.T) {
			stdout, stderr, err := runCommand(t, "status", "--snapshot", statusSnapshot, "--now", statusTime.Format(time.RFC3339), "-o", form)
			if err != nil || stderr != "" {
				t.Fatalf("error %v, stderr %q", err, stderr)
			}
			golden := "testdata/status/want." + form
			if update {
				if err := os.WriteFile(golden, []byte(stdout), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if stdout != string(want) {
				t.Errorf("not as in %s (UPDATE=1 writes it anew); got:\n%s", golden, stdout)
			}
		})
	}
}

// TestStatusIsAScreen: whatever goes wrong on 5 000 nodes, it is told on a screen.
func TestStatusIsAScreen(t *testing.T) {
	stdout, _, err := runCommand(t, "status", "--snapshot", savedCluster(t, 5000), "--now", statusTime.Format(time.RFC3339))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(stdout, "\n"); lines > 50 {
		t.Errorf("%d lines:\n%s", lines, stdout)
	}
}

// TestSavedSnapshot: a snapshot says of the cluster what the cluster itself says.
func TestSavedSnapshot(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "again.json")
	args := []string{"status", "--now", statusTime.Format(time.RFC3339), "-o", "yaml", "--snapshot"}
	first, stderr, err := runCommand(t, append(args, statusSnapshot, "--save", saved)...)
	if err != nil {
		t.Fatal(err)
	}
	if want := "again.json is saved; judge by it with --snapshot "; !strings.Contains(stderr, want) || !strings.HasSuffix(stderr, "--now 2026-01-02T00:05:00Z\n") {
		t.Errorf("stderr %q", stderr)
	}
	second, _, err := runCommand(t, append(args, saved)...)
	if err != nil || first != second {
		t.Errorf("error %v; got:\n%s\nwant:\n%s", err, second, first)
	}
	if _, _, err := runCommand(t, append(args, statusSnapshot, "--save", "/nowhere/x.json")...); err == nil || !strings.HasPrefix(err.Error(), "--save /nowhere/x.json: no such file") {
		t.Errorf("error %v", err)
	}
}

// BenchmarkStatus is the time from a snapshot of 5 000 nodes on disk to the text,
// and that from the objects in memory, as after listing a live cluster.
func BenchmarkStatus(b *testing.B) {
	b.Run("snapshot", func(b *testing.B) {
		path := savedCluster(b, 5000)
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(info.Size())
		for b.Loop() {
			cmd := newRootCommand()
			cmd.SetArgs([]string{"status", "--snapshot", path, "--now", statusTime.Format(time.RFC3339)})
			cmd.SetOut(&strings.Builder{})
			if err := cmd.Execute(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("objects", func(b *testing.B) {
		objects := statusCluster(5000)
		for b.Loop() {
			view := &clusterView{state: webhook.NewState(webhook.Options{Inventory: inventory.DefaultOptions}), time: statusTime, snapshot: "x"}
			for _, object := range objects {
				if err := view.state.Apply(object); err != nil {
					b.Fatal(err)
				}
			}
			if err := writeStatus(&strings.Builder{}, "text", (&statusOptions{}).statusOf(b.Context(), view)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
