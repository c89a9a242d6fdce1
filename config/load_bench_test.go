package config

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// nodeTree is a node's configuration in n files with a few handlers each.
func nodeTree(n int) *hostfs.FS {
	tree := fstest.MapFS{"etc/containerd/config.toml": {Mode: 0o644, Data: []byte("version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n" + handlersText("main", 4))}}
	for i := range n - 1 {
		tree[fmt.Sprintf("etc/containerd/conf.d/%02d.toml", i)] = &fstest.MapFile{Mode: 0o644, Data: []byte("version = 2\n" + handlersText(fmt.Sprint("h", i), 4))}
	}
	return hostfs.New(tree)
}

func handlersText(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.%s-%d]
  runtime_type = "io.containerd.runc.v2"
  privileged_without_host_devices = false
  pod_annotations = ["nvidia.com/*"]
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.%s-%d.options]
    BinaryName = "/usr/bin/nvidia-container-runtime"
    SystemdCgroup = true
`, prefix, i, prefix, i)
	}
	return b.String()
}

// BenchmarkLoad20Files is a whole node: it should take less than 5 ms.
func BenchmarkLoad20Files(b *testing.B) {
	for _, version := range []string{"1.7.27", "2.2.9", "2.4.2"} {
		b.Run(version, func(b *testing.B) {
			rt := mustRuntime(b, version)
			host := nodeTree(20)
			b.ReportAllocs()
			for b.Loop() {
				r, err := Load(host, Options{Runtime: rt, Path: DefaultConfigPath})
				if err != nil || r.Dump.Exit != 0 {
					b.Fatal(err, r.Dump.Error)
				}
			}
		})
	}
}
