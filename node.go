package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/runtimegate/runtimegate/config/hostfs"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/cri"
)

// nodeOptions are the flags of the commands that look at this node's running
// runtime and its files.
type nodeOptions struct {
	root     string
	endpoint string
	config   string
	path     string
}

func (o *nodeOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.root, "host-root", "/", "folder that is the node's root; all paths are those inside it")
	flags.StringVar(&o.config, "config", "", "the runtime's main configuration file (default: by the socket)")
	flags.StringVar(&o.path, "daemon-path", "", "the runtime's PATH, where shims and OCI runtimes are looked for (default: that of its process where it can be seen, else the usual one)")
}

// addEndpointFlag is for commands that have no other place for it.
func (o *nodeOptions) addEndpointFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.endpoint, "endpoint", "", "CRI socket of the runtime, as unix:///run/containerd/containerd.sock or a path (default: the kubelet's, or a known one)")
}

// observer opens the node.
func (o *nodeOptions) observer() (*inventory.Observer, func() error, error) {
	root, err := openRoot(o.root)
	if err != nil {
		return nil, nil, fmt.Errorf("--host-root %s: %w", o.root, err)
	}
	return &inventory.Observer{
		Host: hostfs.New(root.FS()), Root: root.Name(), Endpoint: o.endpoint, Config: o.config, SearchPath: o.path,
	}, root.Close, nil
}

// observe looks at the node once. What it has to say beside goes to stderr.
func (o *nodeOptions) observe(ctx context.Context, stderr io.Writer) (*inventory.Observation, error) {
	observer, closeRoot, err := o.observer()
	if err != nil {
		return nil, err
	}
	defer closeRoot()
	endpoint, err := observer.Find("")
	if err != nil {
		return nil, err
	}
	note := func(format string, args ...any) { fmt.Fprintf(stderr, "note: "+format+"\n", args...) }
	if len(endpoint.Others) > 0 {
		note("%s is asked: %s; also there: %s (name the one that is meant)", endpoint.Socket, endpoint.Why, strings.Join(endpoint.Others, ", "))
	}
	seen, err := observer.Observe(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	for _, n := range seen.Loaded.Notes {
		note("%s: %s", endpoint.Socket, n)
	}
	if seen.Next != nil {
		for _, n := range seen.Next.Notes {
			note("%s", n)
		}
	}
	return seen, nil
}

// check finds mistakes in the flags before anything is asked.
func (o *nodeOptions) check() error {
	if o.endpoint != "" {
		if _, err := cri.ParseEndpoint(o.endpoint); err != nil {
			return err
		}
	}
	if o.config != "" && !filepath.IsAbs(o.config) {
		return fmt.Errorf("--config %q: want an absolute path inside --host-root", o.config)
	}
	return nil
}

// openRoot opens a folder as the root of a host. Its Name is absolute.
func openRoot(name string) (*os.Root, error) {
	if name == "" {
		return nil, errors.New("it is empty: name the folder that is the node's root")
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, pathCause(err)
	}
	return root, nil
}
