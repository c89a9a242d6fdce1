package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

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
