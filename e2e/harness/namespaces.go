package harness

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// The process's main thread is what it looks like from outside, in /proc, and it
// would not end with a goroutine: it is kept for the main goroutine, on which
// init runs.
func init() { runtime.LockOSThread() }

// joinNamespaces moves the calling goroutine's thread into the mount namespace
// of a process, and what it starts from now on into that process's process
// namespace. The thread serves nothing else any more: it ends with the goroutine.
func joinNamespaces(pid int) error {
	runtime.LockOSThread()
	// Threads that share a root can't have one each.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	// The mounts come last: with them goes this /proc.
	for _, namespace := range []string{"pid", "mnt"} {
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, namespace))
		if err != nil {
			return err
		}
		err = unix.Setns(int(file.Fd()), 0)
		file.Close()
		if err != nil {
			return fmt.Errorf("enter the %s namespace of process %d: %w", namespace, pid, err)
		}
	}
	return nil
}
