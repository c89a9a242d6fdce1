package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// demo prepares a run of the demo with its files below a folder. It is not for
// parallel tests: the kernel ends a demo with the thread that has started it, and
// TestRealNode uses up threads.
func demo(t *testing.T, args ...string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd = exec.CommandContext(interrupted, filepath.Join(bin, "demo"), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd, dir
}

func TestDemoTellsItsStoryAndLeavesNothing(t *testing.T) {
	args := []string{}
	if *update {
		args = append(args, "--update")
	}
	cmd, dir := demo(t, args...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	must(t, expectGone(dir))
}

func TestDemoKeepsEverythingUpWhenAskedTo(t *testing.T) {
	cmd, dir := demo(t, "--keep")
	output, err := cmd.CombinedOutput() // ends only when nothing holds the pipe
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	keeper, err := strconv.Atoi(find(t, output, `kill (\d+)`))
	must(t, err)
	t.Cleanup(func() { _ = syscall.Kill(keeper, syscall.SIGKILL) }) // for when the test fails before
	pods := exec.CommandContext(interrupted, filepath.Join(bin, "kubectl"), "get", "pods", "-n", "gpu-rt", "-o", "name")
	pods.Env = append(os.Environ(), "KUBECONFIG="+find(t, output, `KUBECONFIG=(\S+)`))
	names, err := pods.CombinedOutput()
	if err != nil || !bytes.Contains(names, []byte("pod/probe-cdi")) {
		t.Errorf("kubectl get pods: %v\n%s", err, names)
	}
	must(t, syscall.Kill(keeper, syscall.SIGTERM))
	must(t, harness.Poll(interrupted, "everything to be gone", 30*time.Second, func(context.Context) error {
		return expectGone(dir)
	}))
}

func TestDemoLeavesNothingRunningWhenItIsKilled(t *testing.T) {
	tests := map[string]struct {
		args   []string
		signal syscall.Signal
	}{
		"at once":                 {nil, syscall.SIGKILL},
		"at once, told to keep":   {[]string{"--keep"}, syscall.SIGKILL},
		"by Ctrl-C":               {nil, syscall.SIGINT},
		"by Ctrl-C, told to keep": {[]string{"--keep"}, syscall.SIGINT},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cmd, dir := demo(t, test.args...)
			must(t, cmd.Start())
			must(t, harness.Poll(interrupted, "kwok to run", time.Minute, func(context.Context) error {
				for _, line := range running(dir) {
					if strings.Contains(line, "/kwok ") {
						return nil
					}
				}
				return fmt.Errorf("it does not")
			}))
			must(t, cmd.Process.Signal(test.signal))
			if err := cmd.Wait(); err == nil {
				t.Error("the demo ended well although it was stopped")
			}
			must(t, harness.Poll(interrupted, "every process to be gone", 30*time.Second, func(context.Context) error {
				if left := running(dir); len(left) > 0 {
					return fmt.Errorf("still running: %q", left)
				}
				return nil
			}))
		})
	}
}

func TestDemoOfANodeTellsItsStoryAndLeavesNothing(t *testing.T) {
	needRealNode(t)
	args := []string{"--node"}
	if *update {
		args = append(args, "--update")
	}
	cmd, dir := demo(t, args...)
	output := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = output, output
	must(t, cmd.Start())
	node := nodeOf(t, dir)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Log(output)
	must(t, errors.Join(expectGone(dir), node.expectGone()))
}

func TestDemoOfANodeLeavesNothingWhenItIsKilled(t *testing.T) {
	needRealNode(t)
	tests := map[string]struct {
		args   []string
		signal syscall.Signal
	}{
		"at once":               {[]string{"--node"}, syscall.SIGKILL},
		"at once, told to keep": {[]string{"--node", "--keep"}, syscall.SIGKILL},
		"by Ctrl-C":             {[]string{"--node"}, syscall.SIGINT},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cmd, dir := demo(t, test.args...)
			must(t, cmd.Start())
			node := nodeOf(t, dir)
			must(t, cmd.Process.Signal(test.signal))
			if err := cmd.Wait(); err == nil {
				t.Error("the demo ended well although it was stopped")
			}
			must(t, harness.Poll(interrupted, "everything to be gone", 30*time.Second, func(context.Context) error {
				if left := running(dir); len(left) > 0 {
					return fmt.Errorf("still running: %q", left)
				}
				return node.expectGone()
			}))
		})
	}
}

// A demoNode is what a demo's real node has outside of the demo's folder, and
// its root in it.
type demoNode struct{ root, namespace, cgroup string }

// nodeOf waits until the node of a demo with its files below a folder runs Pods.
func nodeOf(t *testing.T, dir string) (n demoNode) {
	t.Helper()
	must(t, harness.Poll(interrupted, "Pods to run on the node", 2*time.Minute, func(context.Context) error {
		for _, process := range processesIn("") {
			line, _ := os.ReadFile(process + "/cmdline")
			program, root, _ := strings.Cut(strings.TrimRight(string(line), "\x00"), "\x00")
			if filepath.Base(program) != "pause" || !strings.HasPrefix(root, dir) {
				continue
			}
			n.root = root
			n.namespace, _ = os.Readlink(process + "/ns/pid")
		}
		if n.root == "" {
			return errors.New("it has no first process")
		}
		for _, process := range processesIn(n.namespace) {
			if line, _ := os.ReadFile(process + "/cmdline"); strings.Contains(string(line), "runtimegate") {
				return nil
			}
		}
		return errors.New("none runs")
	}))
	config, err := os.ReadFile(filepath.Join(n.root, "var/lib/kubelet/config.yaml"))
	must(t, err)
	n.cgroup = find(t, config, `cgroupRoot: /(\S+)`)
	if len(n.cgroups()) == 0 {
		t.Fatalf("no cgroup %s: the check for what is left looks in the wrong place", n.cgroup)
	}
	return n
}

// cgroups are the folders of the node's cgroup, in one hierarchy or in many.
func (n demoNode) cgroups() []string {
	one, _ := filepath.Glob("/sys/fs/cgroup/" + n.cgroup) // the patterns are well formed
	many, _ := filepath.Glob("/sys/fs/cgroup/*/" + n.cgroup)
	return append(one, many...)
}

// expectGone gives an error when something of the node is left.
func (n demoNode) expectGone() error {
	if left := processesIn(n.namespace); len(left) > 0 {
		return fmt.Errorf("still running on the node: %q", left)
	}
	if left := n.cgroups(); len(left) > 0 {
		return fmt.Errorf("cgroups are left: %q", left)
	}
	if _, err := os.Stat(n.root); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the node's root is left: %v", err)
	}
	// A mount that another process still sees would be one, too.
	tables, _ := filepath.Glob("/proc/[0-9]*/mountinfo")
	for _, table := range tables {
		if mounts, _ := os.ReadFile(table); bytes.Contains(mounts, []byte(n.root)) {
			return fmt.Errorf("mounts are left in %s:\n%s", table, mounts)
		}
	}
	return nil
}

func find(t *testing.T, output []byte, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindSubmatch(output)
	if match == nil {
		t.Fatalf("no %q in:\n%s", pattern, output)
	}
	return string(match[1])
}

// expectGone gives an error when a process or a file of a demo is left.
func expectGone(dir string) error {
	if left := running(dir); len(left) > 0 {
		return fmt.Errorf("still running: %q", left)
	}
	files, err := os.ReadDir(dir)
	if err == nil && len(files) > 0 {
		err = fmt.Errorf("files are left, such as %s", files[0].Name())
	}
	return err
}

// running lists the command lines that name a folder.
func running(dir string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	var lines []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		if bytes.Contains(line, []byte(dir)) {
			lines = append(lines, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return lines
}
