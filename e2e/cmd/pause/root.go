package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// tunables are the kernel's settings that a kubelet changes at its start
// (pkg/kubelet/cm of Kubernetes 1.37, setupKernelTunables). They are the whole
// host's, so that the node gets files in their place.
var tunables = []string{
	"vm/overcommit_memory", "vm/panic_on_oom",
	"kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

// makeRoot makes a folder the root of this process's mount namespace, and takes
// all other mounts out of it. The folders proc, sys and dev are there.
func makeRoot(root string) error {
	mounts := []struct {
		source, target, kind string
		flags                uintptr
	}{
		{root, "", "", syscall.MS_BIND}, // a root has to be a mount
		{"proc", "proc", "proc", 0},     // the one of this process namespace
		{"/sys", "sys", "", syscall.MS_BIND | syscall.MS_REC},
		{"/dev", "dev", "", syscall.MS_BIND | syscall.MS_REC},
	}
	for _, m := range mounts {
		if err := syscall.Mount(m.source, filepath.Join(root, m.target), m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.source, err)
		}
	}
	for _, name := range tunables {
		if err := shadow(filepath.Join(root, "proc/sys", name), filepath.Join(root, "run/sysctl", name)); err != nil {
			return err
		}
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	// The old root comes to lie over the new one, from where it is taken away:
	// pivot_root(2).
	if err := syscall.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the old root: %w", err)
	}
	return os.Chdir("/")
}

// shadow puts a copy over a file.
func shadow(file, twin string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(twin), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(twin, content, 0o644); err != nil {
		return err
	}
	if err := syscall.Mount(twin, file, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount over %s: %w", file, err)
	}
	return nil
}
