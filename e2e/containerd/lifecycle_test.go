// Package containerd runs runtimegate against real containerds, which it starts
// and restarts itself. The folders beside pin their versions.
package containerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// What TestMain gives to the tests.
var (
	interrupted context.Context
	bin         string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	var stop context.CancelFunc
	interrupted, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if bin, err = build.All(interrupted, os.Stdout, build.Containerd); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// A node is a containerd and what runtimegate says of it.
type node struct {
	*harness.Containerd
	t testing.TB
}

func newNode(t testing.TB, minor string) *node {
	t.Helper()
	dir, err := os.MkdirTemp("", "node") // t.TempDir is too long for a socket
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	c, err := harness.NewContainerd(bin, minor, dir)
	must(t, err)
	t.Cleanup(c.Stop)
	return &node{c, t}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runtimegate runs it and returns what it printed.
func (n *node) runtimegate(args ...string) (stdout, stderr string, exit int) {
	n.t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(interrupted, filepath.Join(bin, "runtimegate"), args...)
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		n.t.Fatal(err)
	}
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}

// report is what the node's NodeRuntime says now.
func (n *node) report() *v1alpha1.NodeRuntimeSpec {
	n.t.Helper()
	stdout, stderr, exit := n.runtimegate("report", "--once", "--host-root", n.Dir, "-o", "yaml")
	if exit != 0 {
		n.t.Fatalf("report: exit code %d: %s; containerd's last words:\n%s", exit, stderr, n.Tail())
	}
	r := &v1alpha1.NodeRuntime{}
	if err := yaml.UnmarshalStrict([]byte(stdout), r); err != nil {
		n.t.Fatalf("%v in\n%s", err, stdout)
	}
	return &r.Spec
}

// want checks the names of the loaded handlers, those of the next start, and
// the findings as "CODE handler"; next nil stands for none.
func (n *node) want(when string, loaded, next string, findings ...string) {
	n.t.Helper()
	spec := n.report()
	var names, found []string
	for _, h := range spec.Handlers {
		names = append(names, h.Name)
	}
	for _, f := range spec.Findings {
		found = append(found, strings.TrimSpace(f.Code+" "+f.Handler))
	}
	if got := strings.Join(names, " "); got != loaded {
		n.t.Errorf("%s: loaded %q, want %q", when, got, loaded)
	}
	if spec.Next == nil {
		n.t.Errorf("%s: what is next is not known", when)
	} else if got := strings.Join(spec.Next.Handlers, " "); got != next {
		n.t.Errorf("%s: next %q, want %q", when, got, next)
	}
	if !slices.Equal(found, findings) {
		n.t.Errorf("%s: findings %q, want %q: %+v", when, found, findings, spec.Findings)
	}
	if spec.Source != v1alpha1.SourceCRI || spec.DefaultHandler != "runc" || !strings.HasPrefix(strings.TrimPrefix(spec.Runtime.Version, "v"), n.Minor+".") {
		n.t.Errorf("%s: source %s, default %q, runtime %+v", when, spec.Source, spec.DefaultHandler, spec.Runtime)
	}
}

// crosscheck checks what the running daemon lacks of "runc,extra".
func (n *node) crosscheck(when, stdout string, exit int) {
	n.t.Helper()
	got, stderr, code := n.runtimegate("crosscheck", "--cri", "--host-root", n.Dir, "--require", "runc,extra")
	if got != stdout || code != exit {
		n.t.Errorf("crosscheck %s: exit code %d, stdout %q, stderr %q; want %d, %q", when, code, got, stderr, exit, stdout)
	}
}

// dropIn defines the handlers in the form of the version. Of 1.x a drop-in
// takes the place of the whole section.
func (n *node) dropIn(handlers ...string) string {
	version, plugin := 3, "io.containerd.cri.v1.runtime"
	if strings.HasPrefix(n.Minor, "1.") {
		version, plugin = 2, "io.containerd.grpc.v1.cri"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "version = %d\n", version)
	if version == 2 {
		fmt.Fprintf(&text, "[plugins.%q.cni]\nconf_dir = %q\nbin_dir = %q\n", plugin, n.Dir+"/etc/cni", n.Dir+"/opt/cni")
		fmt.Fprintf(&text, "[plugins.%q.containerd]\nsnapshotter = \"native\"\n", plugin)
	}
	for _, name := range handlers {
		fmt.Fprintf(&text, "[plugins.%q.containerd.runtimes.%s]\nruntime_type = \"io.containerd.runc.v2\"\n", plugin, name)
	}
	return text.String()
}

const (
	file = "etc/containerd/conf.d/extra.toml"
	zz   = "etc/containerd/conf.d/zz.toml"
)

// TestLifeCycle: what is written is not loaded before a restart, what is loaded
// stays loaded until one, and each state is told apart.
func TestLifeCycle(t *testing.T) {
	for _, minor := range []string{"1.7", "2.4"} {
		t.Run(minor, func(t *testing.T) {
			n := newNode(t, minor)
			must(t, n.Start(interrupted))
			n.want("at first", "runc", "runc")
			n.crosscheck("at first", "MISSING=extra\n", 1)

			must(t, n.Write(file, n.dropIn("runc", "extra"), 0o644))
			n.want("with a drop-in", "runc", "extra runc", "RestartPending extra")
			n.crosscheck("with a drop-in", "MISSING=extra\nRESTART=extra\n", 1)

			must(t, n.Restart(interrupted))
			n.want("after the restart", "extra runc", "extra runc")
			n.crosscheck("after the restart", "OK\n", 0)
			for _, h := range n.report().Handlers {
				if h.Name == "extra" && h.Origin != fmt.Sprintf("/%s:%d", file, strings.Count(n.dropIn("runc"), "\n")+1) {
					t.Errorf("origin %q", h.Origin)
				}
			}

			must(t, n.Write(zz, "version = [\n", 0o644))
			n.want("with a broken drop-in", "extra runc", "", "DaemonWillNotStart")
			must(t, n.Remove(zz))
			must(t, n.Remove("usr/bin/runc"))
			n.want("without runc", "extra runc", "extra runc", "DefaultBroken runc", "Broken extra")
			must(t, n.Write("usr/bin/runc", "", 0o755))

			must(t, n.Remove(file))
			n.want("without the drop-in", "extra runc", "runc", "Expiring extra")
			n.crosscheck("without the drop-in", "OK\n", 0)
			must(t, n.Restart(interrupted))
			n.want("after the second restart", "runc", "runc")
		})
	}
}

// TestEnd: a containerd that is gone, refuses to start, or serves no CRI is
// never one without handlers.
func TestEnd(t *testing.T) {
	for _, minor := range []string{"1.7", "2.4"} {
		t.Run(minor, func(t *testing.T) {
			n := newNode(t, minor)
			silent := func(when, want string) {
				t.Helper()
				for _, args := range [][]string{{"report", "--once", "-o", "yaml"}, {"crosscheck", "--cri", "--require", "runc"}} {
					stdout, stderr, exit := n.runtimegate(append(args, "--host-root", n.Dir)...)
					if stdout != "" || exit != 2 || !strings.Contains(stderr, want) {
						t.Errorf("%s %s: exit code %d, stdout %q, stderr %q; want %q", args[0], when, exit, stdout, stderr, want)
					}
				}
			}
			silent("before the start", "none of them is there")
			must(t, n.Start(interrupted))
			// containerd has no reload: SIGHUP ends it, and leaves its socket.
			must(t, n.Signal(syscall.SIGHUP))
			silent("after SIGHUP", "connection refused: the runtime is down")

			// The broken file was told of before; the start proves it.
			must(t, n.Write(file, "version = [\n", 0o644))
			must(t, n.Launch())
			<-n.Exited
			silent("with a broken file", "connection refused: the runtime is down")

			must(t, n.Write(file, `disabled_plugins = ["io.containerd.grpc.v1.cri"]`+"\n", 0o644))
			must(t, n.Start(interrupted))
			silent("with the CRI off", "serves no CRI, so that no Pod of this node can start")
			_, err := n.Terminate(harness.ContainerdTimeout)
			must(t, err)
			silent("after an orderly end", ": the runtime is down")
		})
	}
}
