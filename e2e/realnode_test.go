package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
	"github.com/runtimegate/runtimegate/e2e/session"
)

// TestRealNode plays what happens on a node of real components: a Pod of a
// handler that is not loaded, with and without runtimegate, and what a running
// Pod hides.
func TestRealNode(t *testing.T) {
	needRealNode(t)
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
	must(t, n.InstallGate(interrupted, root))
	s.play("realnode/with.session")
	s.compare()
	s.play("realnode/hidden.session")
	s.compare()
	fmt.Fprintf(&s.text, "\nThat took %s.\n", time.Since(started).Round(time.Second))
}

// needRealNode skips the test where there can be no real node, and else builds
// what it runs.
func needRealNode(t *testing.T) {
	t.Helper()
	if err := harness.CheckRealNode(); err != nil {
		skip(t, err)
	}
	if err := build.CheckC(interrupted); err != nil {
		skip(t, err)
	}
	_, err := build.All(interrupted, os.Stdout, build.Node)
	must(t, err)
}

// stop stops the node and checks that nothing of it is left. Its cgroups are
// errors by themselves.
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

// processesIn are the folders in /proc of the processes in a process namespace,
// or in any.
func processesIn(namespace string) (found []string) {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/pid") // the pattern is well formed
	for _, link := range links {
		if is, err := os.Readlink(link); err == nil && (namespace == "" || is == namespace) {
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
		output, exit, err = s.node.Shell(interrupted, filepath.Dir(path), step.Command)
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
