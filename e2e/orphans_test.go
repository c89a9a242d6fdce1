package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// TestReportsOfNodesThatAreGone: runtimegate removes the NodeRuntime of a Node
// that is deleted, be it while it runs or while it is down, and takes a Node that
// is made anew for another one.
func TestReportsOfNodesThatAreGone(t *testing.T) {
	c := startCluster(t)
	must(t, c.AddNodes(interrupted, harness.Node{Name: "gpu-a"}, harness.Node{Name: "gpu-b"}, harness.Node{Name: "gpu-c"}))
	must(t, c.Install(interrupted, root))
	kubectl := func(stdin string, args ...string) string {
		t.Helper()
		output, err := c.Must(interrupted, stdin, append([]string{"kubectl"}, args...)...)
		must(t, err)
		return output
	}
	start := func() *harness.Gate {
		t.Helper()
		g, err := c.StartGate(interrupted, "--orphan-grace=0s")
		must(t, err)
		return g
	}
	stop := func(g *harness.Gate) {
		t.Helper()
		_, err := g.Terminate(time.Minute)
		must(t, err)
	}
	gone := func(node string) {
		t.Helper()
		kubectl("", "wait", "--for=delete", "--timeout=60s", "noderuntime/"+node)
	}
	// told waits for what is told of a Pod that wants nvidia on that node; "" for
	// nothing.
	told := func(when, node, want string) {
		t.Helper()
		pod := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}, "spec": {"runtimeClassName": "nvidia",
			"nodeSelector": {"kubernetes.io/hostname": %q}, "containers": [{"name": "main", "image": "main"}]}}`, node)
		must(t, harness.Poll(interrupted, "what is told "+when, time.Minute, func(ctx context.Context) error {
			r, err := c.Command(ctx, pod, "kubectl", "create", "--dry-run=server", "-f", "-")
			if err == nil && (want == "" && r.Stderr != "" || !strings.Contains(r.Stderr, want)) {
				err = fmt.Errorf("got %q, want %q", r.Stderr, want)
			}
			return err
		}))
	}
	for _, node := range []string{"gpu-a", "gpu-b", "gpu-c"} {
		must(t, c.Report(interrupted, node, nvidiaDump))
	}
	kubectl(`{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}`, "create", "-f", "-")

	g := start()
	told("at first", "gpu-b", "")
	kubectl("", "delete", "node", "gpu-a")
	gone("gpu-a")

	stop(g)
	kubectl("", "delete", "node", "gpu-b")
	g = start()
	gone("gpu-b")
	must(t, c.AddNodes(interrupted, harness.Node{Name: "gpu-b"}))
	told("of a Node that came back", "gpu-b", "is not known to be loaded on the only node this Pod may land on; no report from gpu-b")
	must(t, c.Report(interrupted, "gpu-b", nvidiaDump))
	told("once it has reported", "gpu-b", "")

	// Nobody sees that this Node was deleted and made anew, but its NodeRuntime is
	// older.
	stop(g)
	kubectl("", "delete", "node", "gpu-c")
	must(t, c.AddNodes(interrupted, harness.Node{Name: "gpu-c"}))
	start()
	told("of a Node that was made anew", "gpu-c", "is not known to be loaded on the only node this Pod may land on")
	gone("gpu-c")
	must(t, c.Report(interrupted, "gpu-c", nvidiaDump))
	told("once that has reported", "gpu-c", "")
	if left := kubectl("", "get", "nruntime", "-o=name"); strings.Count(left, "\n") != 2 {
		t.Errorf("there are NodeRuntimes of:\n%s", left)
	}
}

// TestReportOfANodeNotSeenYet: that runtimegate does not know of a Node yet is no
// reason to remove its NodeRuntime.
func TestReportOfANodeNotSeenYet(t *testing.T) {
	c := startCluster(t)
	must(t, c.Install(interrupted, root))
	slow := newDam(t, c)
	slow.open()
	g, err := c.LaunchGate(interrupted, slow.kubeconfig, "--orphan-grace=0s")
	must(t, err)
	must(t, g.WaitReady(interrupted))
	slow.frozen.Lock()
	defer slow.frozen.Unlock()
	must(t, c.AddNodes(interrupted, harness.Node{Name: "gpu-a"}))
	must(t, c.Report(interrupted, "gpu-a", nvidiaDump))
	// It comes to this one after the first.
	must(t, c.Report(interrupted, "no-node", nvidiaDump))
	_, err = c.Must(interrupted, "", "kubectl", "wait", "--for=delete", "--timeout=60s", "noderuntime/no-node")
	must(t, err)
	_, err = c.Must(interrupted, "", "kubectl", "get", "noderuntime", "gpu-a")
	must(t, err)
}
