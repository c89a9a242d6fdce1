package containerd

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
)

// TestAgent: the cluster follows what a node's containerd has loaded, and keeps
// it when containerd is gone.
func TestAgent(t *testing.T) {
	n := newNode(t, "2.4")
	must(t, n.Start(interrupted))
	root, err := build.Root()
	must(t, err)
	c, err := harness.StartCluster(interrupted, bin, t.TempDir())
	must(t, err)
	t.Cleanup(c.Stop)
	must(t, c.Install(interrupted, root))
	agent, err := c.StartReporter("gpu-a", "--host-root="+n.Dir, "--poll=2s")
	must(t, err)

	// want waits for what kubectl shows of handlers, next start and findings.
	want := func(when, text string) {
		t.Helper()
		const columns = `-o=jsonpath={.spec.summary.handlers}/{.spec.next.handlers}/{.spec.summary.findings}`
		must(t, agent.WaitFor(interrupted, "the report "+when, time.Minute, func(ctx context.Context) error {
			r, err := c.Command(ctx, "", "kubectl", "get", "nruntime", "gpu-a", columns)
			if err == nil && r.Stdout != text {
				err = fmt.Errorf("kubectl shows %q, want %q %s", r.Stdout, text, r.Stderr)
			}
			return err
		}))
	}
	want("at first", `runc/["runc"]/`)
	must(t, n.Write(file, n.dropIn("extra"), 0o644))
	want("with a drop-in", `runc/["extra","runc"]/RestartPending`)
	must(t, n.Restart(interrupted))
	want("after the restart", `extra,runc/["extra","runc"]/`)
	must(t, n.Signal(syscall.SIGKILL))
	want("of a containerd that is gone", `extra,runc/["extra","runc"]/RuntimeUnreachable`)
	must(t, n.Start(interrupted))
	want("of one that is back", `extra,runc/["extra","runc"]/`)
	if code, err := agent.Terminate(harness.ContainerdTimeout); err != nil || code != 0 {
		t.Errorf("the agent ended with %d, %v; its last words:\n%s", code, err, agent.Tail())
	}
}
