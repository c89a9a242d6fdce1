// Command pause is a first process that waits: of a Pod's sandbox and its
// container, as Kubernetes' own pause is, and of a node, whose root it makes of
// the folder that is its argument.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
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
