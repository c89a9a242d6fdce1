package inventory

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

func TestFolders(t *testing.T) {
	o := &Observation{
		Endpoint: "unix:///run/containerd/containerd.sock",
		Next: filesOf(t, map[string]string{
			"config.toml":   "version = 3\nimports = ['conf.d/*.toml', '/opt/*/x.toml', '/etc/nvidia/*.toml']\n",
			"conf.d/a.toml": "version = 3\n",
		}),
	}
	want := []string{"/etc/containerd", "/etc/containerd/conf.d", "/etc/nvidia", "/run/containerd"}
	if diff := cmp.Diff(want, o.Folders()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWatcher(t *testing.T) {
	root := t.TempDir()
	outside := t.TempDir()
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/b", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	host, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	w, err := NewWatcher(hostfs.New(host.FS()), root)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	within := func(patience time.Duration, file string) bool {
		t.Helper()
		select {
		case <-w.Hints:
		default:
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.Hints:
			return true
		case <-time.After(patience):
			return false
		}
	}
	// A busy machine may take its time for a hint; that none comes is not waited for so
	// long.
	hinted := func(file string) bool { t.Helper(); return within(time.Minute, file) }
	hintedSoon := func(file string) bool { t.Helper(); return within(200*time.Millisecond, file) }
	w.Watch([]string{"/a", "/none", "/link", "/out"}, nil)
	if !hinted(filepath.Join(root, "a/1")) {
		t.Error("no hint of a new file")
	}
	if !hinted(filepath.Join(root, "b/1")) {
		t.Error("no hint of a new file behind a link inside the root")
	}
	if hintedSoon(filepath.Join(outside, "1")) {
		t.Error("a link led out of the root")
	}
	w.Watch([]string{"/b"}, nil)
	if hintedSoon(filepath.Join(root, "a/2")) {
		t.Error("a hint of a folder that is no longer watched")
	}

	// Of a linked file, where it is and where the links to it are.
	for link, target := range map[string]string{"a/config.toml": "../c/current.toml", "c/current.toml": "/d/real.toml"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(root, "c"), 0o700), os.Symlink(target, filepath.Join(root, link))); err != nil {
			t.Fatal(err)
		}
	}
	w.Watch([]string{"/a"}, []string{"/a/config.toml", "/a/none.toml"})
	if err := os.Mkdir(filepath.Join(root, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if !hinted(filepath.Join(root, "c/next.toml")) {
		t.Error("no hint of what is beside a link that leads nowhere yet")
	}
	if err := os.WriteFile(filepath.Join(root, "d/real.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.Watch([]string{"/a"}, []string{"/a/config.toml"})
	if !hinted(filepath.Join(root, "d/real.toml")) {
		t.Error("no hint of the file that links lead to")
	}
}
