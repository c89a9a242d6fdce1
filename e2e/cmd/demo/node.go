package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
)

// prepareNode builds what the demo of a real node runs, if this host can run it.
func prepareNode(ctx context.Context) error {
	if err := harness.CheckRealNode(); err != nil {
		return fmt.Errorf("this host can't run a real node: %w; it needs root, mount and process namespaces, and cgroups", err)
	}
	if err := build.CheckC(ctx); err != nil {
		return fmt.Errorf("this host can't build runc: %w; install gcc and the static libc", err)
	}
	_, err := build.All(ctx, os.Stdout, build.Node)
	return err
}

// playNode tells what becomes of a handler on a node of real components.
func (t *teller) playNode(ctx context.Context, root string) error {
	t.page.note("Starting a node: kubelet, containerd and runc ...")
	node, err := t.cluster.StartRealNode(ctx)
	if err != nil {
		return err
	}
	t.node = node
	t.around = fmt.Sprintf("\nThe node's files, ~/node of the story, are in\n  %[1]s\n"+
		"The node has no systemd and no shell. What \"runtimegate why\" has you run there, as #, is here\n"+
		"  runtimegate explain --root %[1]s\n"+
		"  runtimegate report --once -o yaml --host-root %[3]s --node %[5]s\n"+
		"  runtimegate crosscheck --cri --host-root %[3]s\n"+
		"  tail %[4]s   # for journalctl -u containerd\n"+
		"  kill -USR1 %[2]d   # for systemctl restart containerd\n"+
		"  kill -USR2 %[2]d   # for systemctl stop containerd; USR1 starts it again\n"+
		"Restart it four times within 10 minutes, and RestartStorm is found, too.",
		node.Dir, os.Getpid(), node.Root(), filepath.Join(t.cluster.Dir, "containerd.log"), harness.RealNodeName)
	t.stop = node.Stop
	t.shell = node.Shell
	t.page.note("Installing runtimegate ...")
	if err := node.InstallGate(ctx, root); err != nil {
		return err
	}
	for _, name := range []string{"swallowed", "mended"} {
		if err := t.session(ctx, filepath.Join(root, "e2e/demo/node", name+".session")); err != nil {
			return err
		}
	}
	return nil
}

// restartWhenTold restarts the node's containerd at each SIGUSR1 and ends it at
// SIGUSR2, until the function that it returns is called.
func (t *teller) restartWhenTold(ctx context.Context) (stop func()) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for sent := range told {
			// Broken files are part of looking around: kubectl shows that it is down.
			if sent == syscall.SIGUSR2 {
				_ = t.node.StopContainerd()
				continue
			}
			_ = t.node.RestartContainerd(ctx)
		}
	}()
	return func() { signal.Stop(told); close(told) }
}
