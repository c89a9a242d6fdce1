package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
	"github.com/runtimegate/runtimegate/e2e/session"
)

// restart is a command of the sessions that the harness does: there is no
// systemd on its node.
const restart = "systemctl restart containerd"

// TestRealNode plays what happens on a node of real components: a Pod of a
// handler that is not loaded, with and without runtimegate, and what a running
// Pod hides.
func TestRealNode(t *testing.T) {
	if err := harness.CheckRealNode(); err != nil {
		skip(t, err)
	}
	if err := build.CheckC(interrupted); err != nil {
		skip(t, err)
	}
	_, err := build.All(interrupted, os.Stdout, build.Node)
	must(t, err)
	c := startCluster(t)
	n, err := c.StartRealNode(interrupted)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(n.Logs())
		}
		stop(t, c, n)
	})
	s := &story{t: t, cluster: c, node: n}
	t.Cleanup(func() { t.Log(s.text.String()) })
	started := time.Now()
	s.play("realnode/without.session")
	s.install()
	s.play("realnode/with.session")
	s.compare()
	s.play("realnode/hidden.session")
	s.compare()
	fmt.Fprintf(&s.text, "\nThat took %s.\n", time.Since(started).Round(time.Second))
}

// install installs the chart with its image, both as they are, on the node. What
// is set is what the node lacks: without a network for Pods these are in that of
// the host, where the API server is not behind the Service kubernetes; and its
// runc knows no seccomp, which a Pod goes without only if it is privileged.
func (s *story) install() {
	s.t.Helper()
	ports, err := harness.FreePorts(3)
	must(s.t, err)
	config, err := clientcmd.BuildConfigFromFlags("", s.cluster.Kubeconfig())
	must(s.t, err)
	server, err := url.Parse(config.Host)
	must(s.t, err)
	port := func(address string) string { _, p, _ := net.SplitHostPort(address); return p }
	env := []any{
		map[string]any{"name": "KUBERNETES_SERVICE_HOST", "value": server.Hostname()},
		map[string]any{"name": "KUBERNETES_SERVICE_PORT", "value": server.Port()},
	}
	privileged := map[string]any{"privileged": true, "allowPrivilegeEscalation": nil, "capabilities": nil}
	values, err := yaml.Marshal(map[string]any{
		"image":           map[string]any{"repository": harness.RealNodeImage, "tag": harness.RealNodeTag},
		"replicaCount":    1,
		"nodeSettle":      "0s", // it is seconds old
		"healthPort":      json.Number(port(ports[2])),
		"metrics":         map[string]any{"port": json.Number(port(ports[1]))},
		"webhook":         map[string]any{"port": json.Number(port(ports[0])), "url": map[string]any{"host": ports[0]}},
		"hostNetwork":     true,
		"extraEnv":        env,
		"securityContext": privileged,
		"reporter": map[string]any{
			"hostNetwork": true, "extraEnv": env, "securityContext": privileged,
			"mountPropagation": "None", // the node's mounts are not shared
		},
	})
	must(s.t, err)
	out, err := s.cluster.Must(interrupted, string(values), "helm", "install", harness.Release, chartPath(),
		"--namespace="+system, "--create-namespace", "--values=-", "--wait", "--timeout=120s")
	if err != nil {
		pods, _ := s.cluster.Must(interrupted, "", "kubectl", "get", "pods,events", "--namespace="+system, "--output=wide")
		s.t.Fatalf("%v\n%s\n%s", err, out, pods)
	}
}

// stop stops the node and checks that nothing of it is left. Its cgroups and
// its folder are errors by themselves.
func stop(t *testing.T, c *harness.Cluster, n *harness.RealNode) {
	t.Helper()
	namespace, err := os.Readlink(filepath.Join(filepath.Dir(n.Root()), "ns/pid"))
	if err != nil {
		t.Error(err)
	}
	if ran := processesIn(namespace); len(ran) < 3 {
		t.Errorf("only %q ran on the node: the check for what is left looks in the wrong place", ran)
	}
	if err := n.Stop(); err != nil {
		t.Error(err)
	}
	if left := processesIn(namespace); left != nil {
		t.Errorf("processes are left: %q", left)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), c.Dir) {
		t.Errorf("mounts are left: %v\n%s", err, mounts)
	}
}

// processesIn are the folders in /proc of the processes in a process namespace.
func processesIn(namespace string) (found []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/pid") // the pattern is well formed
	for _, link := range links {
		if is, err := os.Readlink(link); err == nil && is == namespace {
			found = append(found, filepath.Dir(filepath.Dir(link)))
		}
	}
	return found
}

// A story is what a reader of a test is told.
type story struct {
	t       *testing.T
	cluster *harness.Cluster
	node    *harness.RealNode
	text    strings.Builder
}

// play plays a session and notes it down.
func (s *story) play(path string) {
	s.t.Helper()
	playWith(s.t, path, func(step *session.Step) (output string, exit int, err error) {
		if step.Command == restart {
			err = s.node.RestartContainerd(interrupted)
		} else {
			output, exit, err = s.cluster.Shell(interrupted, filepath.Dir(path), step.Command)
		}
		if !step.Hidden {
			fmt.Fprintf(&s.text, "\n%s\n$ %s\n%s", strings.Join(step.Text, "\n"), step.Command, output)
		}
		return output, exit, err
	})
}

// compare waits until the kubelet and the reporter say the same of the node's
// handlers and their features.
func (s *story) compare() {
	s.t.Helper()
	var listed, reported map[string]features
	must(s.t, harness.Poll(interrupted, "kubelet and reporter to say the same", time.Minute, func(ctx context.Context) (err error) {
		if listed, err = s.handlers(ctx, "node", ".status.runtimeHandlers"); err != nil {
			return err
		}
		delete(listed, "") // the default handler once more
		if reported, err = s.handlers(ctx, "noderuntime", ".spec.handlers"); err != nil {
			return err
		}
		if !reflect.DeepEqual(listed, reported) {
			return fmt.Errorf("the kubelet lists %v, the reporter %v", listed, reported)
		}
		return nil
	}))
	fmt.Fprintln(&s.text, "\nThe kubelet lists what the reporter publishes:")
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		fmt.Fprintf(&s.text, "%s %+v\n", name, listed[name])
	}
}

// features are those of a handler.
type features struct{ RecursiveReadOnlyMounts, UserNamespaces bool }

// handlers are the features of the handlers that an object of the node lists.
func (s *story) handlers(ctx context.Context, kind, path string) (map[string]features, error) {
	out, err := s.cluster.Must(ctx, "", "kubectl", "get", kind, harness.RealNodeName, "-o=jsonpath={"+path+"}")
	if err != nil {
		return nil, err
	}
	var list []struct {
		Name     string
		Features *features
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("%w in %q", err, out)
	}
	all := map[string]features{}
	for _, h := range list {
		if h.Features == nil {
			return nil, fmt.Errorf("%s %s tells no features of handler %q", kind, harness.RealNodeName, h.Name)
		}
		all[h.Name] = *h.Features
	}
	return all, nil
}
