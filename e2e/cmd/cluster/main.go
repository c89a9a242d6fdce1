// Command cluster is a Kubernetes cluster for tests in one binary, compiled
// from the modules that e2e/go.mod pins:
//
//	cluster serve DIR      etcd, kube-apiserver, kube-scheduler and
//	                       kube-controller-manager in this process
//	cluster serve DIR api  etcd and kube-apiserver only
//	cluster kubectl ARGS   the real kubectl
//	cluster helm ARGS      the real helm
//	cluster kwok ARGS      the real kwok, which plays the part of the nodes
//
// Called by the name kubectl, helm or kwok (a link to the binary) it is that tool.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// tools are the commands that may also be called through a link of that name.
var tools = map[string]func() error{
	"kubectl": kubectl,
	"helm":    helm,
	"kwok":    kwok,
}

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	name := filepath.Base(args[0])
	if tools[name] == nil && len(args) > 1 {
		args = args[1:]
		name = args[0]
	}
	if tool := tools[name]; tool != nil {
		os.Args = args // both tools read the process's arguments
		return tool()
	}
	only := len(args) == 3 && args[2] == "api"
	if name != "serve" || len(args) != 2 && !only {
		return fmt.Errorf("usage: cluster serve DIR [api] | cluster kubectl ARGS | cluster helm ARGS | cluster kwok ARGS")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return serve(ctx, args[1], only, os.Stdout)
}
