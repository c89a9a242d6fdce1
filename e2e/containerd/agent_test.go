package containerd

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
)

// A reported is a node with a containerd whose agent publishes to a cluster.
type reported struct {
	*node
	name    string
	cluster *harness.Cluster
	agent   *harness.Process
}

// want waits until kubectl shows these handlers, next start and findings, and
// logs how long that took from since on. Each look of kubectl takes a tenth of a
// second or two.
func (r *reported) want(when string, since time.Time, text string) {
	r.t.Helper()
	r.wait(when, text, "get", "nruntime", r.name, "-o=jsonpath={.spec.summary.handlers}/{.spec.next.handlers}/{.spec.summary.findings}")
	r.t.Logf("containerd %s: %-40s %5d ms: %s", r.Minor, when, time.Since(since).Milliseconds(), text)
}

func (r *reported) wait(what, text string, kubectl ...string) {
	r.t.Helper()
	err := r.agent.WaitFor(interrupted, what, time.Minute, func(ctx context.Context) error {
		got, err := r.cluster.Command(ctx, "", append([]string{"kubectl"}, kubectl...)...)
		if err == nil && got.Stdout != text {
			err = fmt.Errorf("kubectl shows %q, want %q %s", got.Stdout, text, got.Stderr)
		}
		return err
	})
	if err != nil {
		r.t.Fatalf("%v; the agent's last words:\n%s", err, r.agent.Tail())
	}
}

// deployment names the class of the handler that comes and goes.
const deployment = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app", "namespace": "default"}, "spec": {
	"replicas": 0, "selector": {"matchLabels": {"app": "app"}}, "template": {"metadata": {"labels": {"app": "app"}}, "spec": {
	"runtimeClassName": "fast", "containers": [{"name": "c", "image": "images.test/app"}]}}}}`

// TestAgent: the cluster follows what a node's containerd has loaded, learns
// before a restart what that takes away and after it what is lost, and keeps the
// list of a containerd that is gone.
func TestAgent(t *testing.T) {
	root, err := build.Root()
	must(t, err)
	c, err := harness.StartCluster(interrupted, bin, t.TempDir())
	must(t, err)
	t.Cleanup(c.Stop)
	must(t, c.Install(interrupted, root))
	_, err = c.StartGate(interrupted, "--audit-interval=1s")
	must(t, err)
	for _, minor := range []string{"1.7", "2.4"} {
		t.Run(minor, func(t *testing.T) {
			name := "node-" + strings.ReplaceAll(minor, ".", "-")
			must(t, c.AddNodes(interrupted, harness.Node{Name: name}))
			_, err := c.Must(interrupted, deployment, "kubectl", "create", "-f", "-")
			must(t, err)
			_, err = c.Must(interrupted, `{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "fast"}, "handler": "extra"}`, "kubectl", "create", "-f", "-")
			must(t, err)
			n := newNode(t, minor)
			must(t, n.Start(interrupted))
			started := time.Now()
			// A poll shows that containerd is gone; all else must be quicker.
			agent, err := c.StartReporter(name, "--host-root="+n.Dir, "--poll=5s")
			must(t, err)
			r := &reported{n, name, c, agent}
			r.want("the agent's start", started, `runc/["runc"]/`)
			r.lifeCycle()
			if code, err := agent.Terminate(harness.ContainerdTimeout); err != nil || code != 0 {
				t.Errorf("the agent ended with %d, %v; its last words:\n%s", code, err, agent.Tail())
			}
			// The next node is to be the only one, and its class to be told for the first time.
			_, err = c.Must(interrupted, "", "kubectl", "delete", "node/"+name, "nruntime/"+name, "runtimeclass/fast", "deployment/app")
			must(t, err)
		})
	}
}

func (r *reported) lifeCycle() {
	t := r.t
	do := func(err error) time.Time {
		t.Helper()
		must(t, err)
		return time.Now()
	}
	since := do(r.Write(file, r.dropIn("runc", "extra"), 0o644))
	r.want("a drop-in is written", since, `runc/["extra","runc"]/RestartPending`)
	since = do(nil)
	must(t, r.Restart(interrupted))
	r.want("containerd is restarted", since, `extra, runc/["extra","runc"]/`)

	since = do(r.Write(zz, "version = [\n", 0o644))
	r.want("a broken drop-in is written", since, `extra, runc/[]/DaemonWillNotStart`)
	since = do(r.Remove(zz))
	r.want("it is removed", since, `extra, runc/["extra","runc"]/`)

	since = do(r.Remove(file))
	r.want("the drop-in is removed", since, `extra, runc/["runc"]/Expiring`)
	since = do(nil)
	must(t, r.Restart(interrupted))
	r.want("containerd is restarted without it", since, `runc/["runc"]/HandlerLost`)
	events := []string{"get", "events", "--namespace=default", "-o=jsonpath={range .items[*]}{.reason} {.type} {.message}{end}"}
	about := func(kind, name string) []string {
		return append(events, "--field-selector=reason=HandlerLost,involvedObject.kind="+kind+",involvedObject.name="+name)
	}
	got, err := r.cluster.Must(interrupted, "", "kubectl", "get", "nruntime", r.name, `-o=jsonpath={.spec.findings[0].message}`)
	must(t, err)
	if want := `handler "extra" was loaded before the last start of containerd`; !strings.HasPrefix(got, want) || !strings.Contains(got, "no file defines it any more") {
		t.Errorf("the finding says %q", got)
	}
	// So does who reports once: it knows what was published.
	if out, stderr, exit := r.runtimegate("report", "--once", "--host-root", r.Dir, "--node", r.name, "--kubeconfig", r.cluster.Kubeconfig()); exit != 0 {
		t.Fatalf("report --once: %d %s%s", exit, out, stderr)
	}
	r.want("it is reported once", time.Now(), `runc/["runc"]/HandlerLost`)
	r.wait("the Node's Event", "HandlerLost Warning "+got, about("Node", r.name)...)
	r.wait("the RuntimeClass's Event", fmt.Sprintf(`HandlerLost Warning handler "extra" is gone since the last start of the runtime on node %s: `+
		"new Pods of this class can't start there; kubectl get nruntime %s -o yaml says why", r.name, r.name), about("RuntimeClass", "fast")...)
	for kind, name := range map[string]string{"RuntimeClass": "fast", "Deployment": "app"} {
		r.wait("the Event on what wants the handler", "HandlerMissing Warning", "get", "events", "--namespace=default",
			"-o=jsonpath={.items[0].reason} {.items[0].type}", "--field-selector=reason=HandlerMissing,involvedObject.kind="+kind+",involvedObject.name="+name)
	}
	// The next node's Event is one of its own.
	_, err = r.cluster.Must(interrupted, "", "kubectl", "delete", "events", "--all", "--namespace=default")
	must(t, err)

	must(t, r.Write(file, r.dropIn("runc", "extra"), 0o644))
	since = do(nil)
	must(t, r.Restart(interrupted))
	r.want("it is back after a restart", since, `extra, runc/["extra","runc"]/`)
	since = do(r.Signal(syscall.SIGKILL))
	r.want("containerd is killed", since, `extra, runc/["extra","runc"]/RuntimeUnreachable`)
	since = do(nil)
	must(t, r.Start(interrupted))
	// That was the fifth start of these few seconds.
	r.want("it is started again", since, `extra, runc/["extra","runc"]/RestartStorm`)
	since = do(r.Signal(syscall.SIGHUP))
	r.want("SIGHUP has ended it", since, `extra, runc/["extra","runc"]/RuntimeUnreachable, RestartStorm`)
	since = do(nil)
	must(t, r.Start(interrupted))
	r.want("it is started once more", since, `extra, runc/["extra","runc"]/RestartStorm`)
}
