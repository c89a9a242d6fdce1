//go:build ignore

package main

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"
)

func main() {
	plugins := map[string]any{}
	for _, r := range registry.Graph(func(*plugin.Registration) bool { return false }) {
		plugins[r.URI()] = r.Config
	}
	emit(plugins)
}
