package inventory

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runtimegate/runtimegate/config/hostfs"
	"github.com/runtimegate/runtimegate/inventory/cri"
)

// TestObserveNamesTheSocketOfTheHost: where the node's root is a folder, an error
// names the socket as the node has it, whatever is wrong with it.
func TestObserveNamesTheSocketOfTheHost(t *testing.T) {
	const socket = "/run/containerd/containerd.sock"
	for name, listen := range map[string]func(t *testing.T, path string){
		"nobody is there": func(*testing.T, string) {},
		"it is a file": func(t *testing.T, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"its runtime is down": func(t *testing.T, path string) {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			_ = l.Close()
		},
		"it hangs up": func(t *testing.T, path string) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_ = conn.Close()
				}
			}()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/tmp", "host")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(socket)), 0o755); err != nil {
				t.Fatal(err)
			}
			listen(t, filepath.Join(dir, socket))
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			o := &Observer{Host: hostfs.New(root.FS()), Root: dir}
			_, err = o.Observe(t.Context(), &cri.Endpoint{Socket: socket})
			if err == nil || strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), " "+socket) {
				t.Errorf("error %v", err)
			}
		})
	}
}
