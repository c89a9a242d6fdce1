// Command pause is a first process that waits: of a Pod's sandbox and its
// container, as Kubernetes' own pause is, and of a node, whose root it makes of
// the folder that is its argument. Under the names mount and umount it is the
// node's.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

var tools = map[string]func(args []string) error{"mount": mount, "umount": umount}

func main() {
	if tool, ok := tools[filepath.Base(os.Args[0])]; ok {
		if err := tool(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(32) // as mount(8) says that a mount failed
		}
		return
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	if len(os.Args) > 1 {
		if err := makeRoot(os.Args[1]); err != nil {
			fmt.Fprintf(os.Stderr, "error: make %s the root: %v\n", os.Args[1], err)
			os.Exit(1)
		}
	}
	fmt.Println("ready")
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap buries what has ended: to the first process fall all that nobody else
// waits for, such as containerd's shims.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 && err != syscall.EINTR {
			return
		}
	}
}
