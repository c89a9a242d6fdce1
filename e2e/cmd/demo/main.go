// Command demo tells what runtimegate is for, with a real control plane and the
// real kubectl, in a minute. It fails when something else happens than it
// promises. With --node it tells what becomes of a handler on a node of real
// components. Whatever way it ends, it leaves nothing running, unless asked to.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() {
	// The one who runs the demo may be killed: be told. The kernel keeps this
	// for the thread that asks, and init runs on the process's main thread.
	if os.Getenv(keeperEnv) == "" {
		_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0)
	}
}

// options are the command's flags.
type options struct{ node, keep, update bool }

func main() {
	var o options
	flag.BoolVar(&o.node, "node", false, "tell the story of a real node, with kubelet, containerd and runc, which needs root")
	flag.BoolVar(&o.keep, "keep", false, "leave everything up at the end")
	flag.BoolVar(&o.update, "update", false, "write what the commands print into the demo's sessions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	isKeeper := os.Getenv(keeperEnv) != ""
	if o.node && !isKeeper {
		if err := prepareNode(ctx); err != nil {
			return err
		}
	}
	if o.keep && !isKeeper {
		return startKeeper(ctx)
	}
	dir, err := os.MkdirTemp("", "runtimegate-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if !o.keep {
		return tell(ctx, dir, o, nil)
	}
	return beKeeper(ctx, func(ctx context.Context, wait func() error) error {
		return tell(ctx, dir, o, wait)
	})
}
