//go:build ignore

package main

import (
	_ "github.com/containerd/containerd/cmd/containerd/builtins"
	"github.com/containerd/containerd/plugin"
)

func main() {
	plugins := map[string]any{}
	for _, r := range plugin.Graph(func(*plugin.Registration) bool { return false }) {
		plugins[r.URI()] = r.Config
	}
	emit(plugins)
}
