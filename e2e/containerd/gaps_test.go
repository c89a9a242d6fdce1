package containerd

import (
	"strings"
	"syscall"
	"testing"
)

// The gaps between what is written, what is loaded, and what runs that nobody
// else tells of. That running Pods hide a loss is shown on a node with a kubelet.

// TestGapDropInSwallowedByALaterOne: a drop-in for registries takes the handlers
// of another one away, in containerd 1.x only, and at the next restart only.
func TestGapDropInSwallowedByALaterOne(t *testing.T) {
	const registry = "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\nconfig_path = \"/etc/containerd/certs.d\"\n"
	t.Run("1.7", func(t *testing.T) {
		n := newNode(t, "1.7")
		must(t, n.Write(file, n.dropIn("runc", "extra"), 0o644))
		must(t, n.Start(interrupted))
		n.want("at first", "extra runc", "extra runc")
		// The section that it replaces has the CNI's folders and the snapshotter,
		// too, without which this containerd does not serve the CRI.
		must(t, n.Write(zz, registry+strings.TrimPrefix(n.dropIn(), "version = 2\n"), 0o644))
		n.want("with a later drop-in", "extra runc", "runc", "Expiring extra", "SectionReplaced extra")
		if f := n.report().Findings[0]; f.File != "/"+zz || f.Line == 0 {
			t.Errorf("it does not name the later drop-in: %+v", f)
		}
		must(t, n.Restart(interrupted))
		n.want("after the restart", "runc", "runc", "SectionReplaced extra")
	})
	t.Run("2.4", func(t *testing.T) {
		n := newNode(t, "2.4")
		must(t, n.Write(file, n.dropIn("extra"), 0o644))
		must(t, n.Start(interrupted))
		must(t, n.Write(zz, registry, 0o644))
		n.want("with a later drop-in, which 2.x merges", "extra runc", "extra runc")
		must(t, n.Restart(interrupted))
		n.want("after the restart", "extra runc", "extra runc")
	})
}

// TestGapSIGHUPRegistersNothing: containerd has no reload.
func TestGapSIGHUPRegistersNothing(t *testing.T) {
	for _, minor := range []string{"1.7", "2.4"} {
		t.Run(minor, func(t *testing.T) {
			n := newNode(t, minor)
			must(t, n.Start(interrupted))
			must(t, n.Write(file, n.dropIn("runc", "extra"), 0o644))
			n.want("before SIGHUP", "runc", "extra runc", "RestartPending extra")
			must(t, n.Signal(syscall.SIGHUP))
			_, stderr, exit := n.runtimegate("report", "--once", "--host-root", n.Dir, "-o", "yaml")
			if exit != 2 || !strings.Contains(stderr, "the runtime is down") {
				t.Errorf("after SIGHUP: exit code %d, %q; want that containerd has ended", exit, stderr)
			}
			must(t, n.Start(interrupted)) // as its supervisor does
			n.want("after the start", "extra runc", "extra runc")
		})
	}
}

// TestGapToolkitRemovedBeforeTheRestart: whoever takes the drop-in away before
// containerd was restarted leaves nothing that waits for one; who does it after
// the restart is told at once what the next one takes away.
func TestGapToolkitRemovedBeforeTheRestart(t *testing.T) {
	for _, minor := range []string{"1.7", "2.4"} {
		t.Run(minor, func(t *testing.T) {
			n := newNode(t, minor)
			must(t, n.Start(interrupted))
			must(t, n.Write(file, n.dropIn("runc", "extra"), 0o644))
			n.want("with the toolkit's drop-in", "runc", "extra runc", "RestartPending extra")
			must(t, n.Remove(file))
			n.want("reverted before the restart", "runc", "runc")
			must(t, n.Restart(interrupted))
			n.want("after the restart", "runc", "runc")
			n.crosscheck("after the restart", "MISSING=extra\n", 1)

			// The order that helps: write, then restart, then check.
			must(t, n.Write(file, n.dropIn("runc", "extra"), 0o644))
			must(t, n.Restart(interrupted))
			n.want("written, then restarted", "extra runc", "extra runc")
			n.crosscheck("written, then restarted", "OK\n", 0)
			must(t, n.Remove(file))
			n.want("with the toolkit removed", "extra runc", "runc", "Expiring extra")
			if f := n.report().Findings[0]; !strings.Contains(f.Message, `handler "extra" is loaded, but the next restart of containerd takes it away`) {
				t.Errorf("the finding says %q", f.Message)
			}
		})
	}
}
