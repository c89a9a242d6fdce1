package e2e

import (
	"bytes"
	"context"
	"fmt"
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

// demo prepares a run of the demo with its files below a folder.
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
