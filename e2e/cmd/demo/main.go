// Command demo tells what runtimegate is for, with a real control plane and the
// real kubectl, in a minute. It fails when something else happens than it
// promises. Whatever way it ends, it leaves nothing running, unless asked to.
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

func main() {
	keep := flag.Bool("keep", false, "leave everything up at the end")
	update := flag.Bool("update", false, "write what the commands print into the demo's sessions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, *keep, *update); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, keep, update bool) error {
	if keep && os.Getenv(keeperEnv) == "" {
		return startKeeper(ctx)
	}
	dir, err := os.MkdirTemp("", "runtimegate-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if !keep {
		return tell(ctx, dir, update, nil)
	}
	return beKeeper(ctx, func(ctx context.Context, wait func() error) error {
		return tell(ctx, dir, update, wait)
	})
}
