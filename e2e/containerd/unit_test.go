package containerd

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
)

// unit is the check at boot, and installed the program that it names.
const unit, installed = "runtimegate-crosscheck.service", "/usr/local/bin/runtimegate"

func readUnit(t *testing.T) string {
	t.Helper()
	root, err := build.Root()
	must(t, err)
	content, err := os.ReadFile(filepath.Join(root, "docs", unit))
	must(t, err)
	return string(content)
}

// TestUnitIsValid: systemd has nothing to say against the unit.
func TestUnitIsValid(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("SKIPPED: there is no systemd-analyze here to check " + unit)
	}
	// It looks for the program, too.
	file := filepath.Join(t.TempDir(), unit)
	must(t, os.WriteFile(file, []byte(strings.ReplaceAll(readUnit(t), installed, filepath.Join(bin, "runtimegate"))), 0o600))
	out, err := exec.CommandContext(interrupted, analyze, "verify", "--man=no", file).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze verify: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, unit) { // not of another unit of this machine
			t.Error(line)
		}
	}
}

// TestUnitAtBoot runs the unit's command as systemd does: as soon as containerd
// says that it is ready. Its CRI answers by then.
func TestUnitAtBoot(t *testing.T) {
	_, line, found := strings.Cut(readUnit(t), "\nExecStart="+installed+" ")
	if !found {
		t.Fatalf("no ExecStart of %s in %s", installed, unit)
	}
	line, _, _ = strings.Cut(line, "\n")
	for _, minor := range []string{"1.7", "2.4"} {
		t.Run(minor, func(t *testing.T) {
			n := newNode(t, minor)
			check := func(want string, exit int) {
				t.Helper()
				stdout, stderr, got := n.runtimegate(append(strings.Fields(line), "--host-root="+n.Dir)...)
				if stdout != want || got != exit {
					t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q", got, stdout, stderr, exit, want)
				}
			}
			check("", 2)
			launchReady(t, n)
			check("MISSING=nvidia\nMISSING=nvidia-cdi\n", 1)
			_, err := n.Terminate(harness.ContainerdTimeout)
			must(t, err)
			must(t, n.Write(file, n.dropIn("runc", "nvidia", "nvidia-cdi"), 0o644))
			launchReady(t, n)
			check("OK\n", 0)
		})
	}
}

// launchReady starts containerd and waits until it says that it is ready, as
// sd_notify(3) has it.
func launchReady(t *testing.T, n *node) {
	t.Helper()
	address := &net.UnixAddr{Name: filepath.Join(n.Dir, "notify"), Net: "unixgram"}
	listener, err := net.ListenUnixgram("unixgram", address)
	must(t, err)
	defer os.Remove(address.Name)
	defer listener.Close()
	must(t, listener.SetReadDeadline(time.Now().Add(harness.ContainerdTimeout)))
	n.Env = []string{"NOTIFY_SOCKET=" + address.Name}
	must(t, n.Launch())
	message := make([]byte, 4096)
	for {
		size, err := listener.Read(message)
		if err != nil {
			t.Fatalf("wait for containerd: %v; its last words:\n%s", err, n.Tail())
		}
		if strings.Contains(string(message[:size]), "READY=1") {
			return
		}
	}
}
