package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func link(target string) *fstest.MapFile {
	return &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(target)}
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Mode: 0o644, Data: []byte(text)} }

func TestReadFileFollowsLinksInsideTheRoot(t *testing.T) {
	host := New(fstest.MapFS{
		"etc/a":            file("a"),
		"etc/rel":          link("a"),
		"etc/abs":          link("/etc/a"),
		"etc/up":           link("../../../../etc/a"),
		"etc/dir":          link("/opt"),
		"opt/b":            file("b"),
		"opt/back":         link("../etc/a"),
		"etc/loop":         link("loop"),
		"etc/gone":         link("/nonexistent"),
		"dev/null":         {Mode: fs.ModeDevice | fs.ModeCharDevice},
		"dev/zero":         {Mode: fs.ModeDevice | fs.ModeCharDevice},
		"etc/null":         link("/dev/null"),
		"etc/zero":         link("/dev/zero"),
		"run/fifo":         {Mode: fs.ModeNamedPipe},
		"etc/big":          {Mode: 0o644, Data: make([]byte, MaxFileBytes+1)},
		"etc/..dots":       file("dots"),
		"etc/dirlink/file": file("x"),
	})
	tests := map[string]struct {
		want string
		err  error
	}{
		"/etc/a":                 {want: "a"},
		"/etc/./a":               {want: "a"},
		"//etc//a":               {want: "a"},
		"/etc/rel":               {want: "a"},
		"/etc/abs":               {want: "a"},
		"/etc/up":                {want: "a"},
		"/../../etc/a":           {want: "a"},
		"/etc/dir/b":             {want: "b"},
		"/etc/dir/back":          {want: "a"},
		"/etc/dir/../etc/a":      {want: "a"},
		"/etc/..dots":            {want: "dots"},
		"/etc/null":              {want: ""},
		"/etc/loop":              {err: syscall.ELOOP},
		"/etc/gone":              {err: fs.ErrNotExist},
		"/etc/none":              {err: fs.ErrNotExist},
		"/etc/a/b":               {err: syscall.ENOTDIR},
		"/etc/a/":                {err: syscall.ENOTDIR},
		"/etc":                   {err: syscall.EISDIR},
		"/etc/zero":              {err: ErrRefused},
		"/run/fifo":              {err: ErrRefused},
		"/etc/big":               {err: ErrRefused},
		"/etc/a\x00":             {err: syscall.EINVAL},
		"/etc/dirlink/../a":      {want: "a"},
		"/etc/dirlink/file/../a": {err: syscall.ENOTDIR},
	}
	for name, test := range tests {
		got, err := host.ReadFile(name)
		if string(got) != test.want || !errors.Is(err, test.err) {
			t.Errorf("ReadFile(%q) = %q, %v; want %q, %v", name, got, err, test.want, test.err)
		}
	}
}

func TestARealRootIsNotLeft(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, target := range map[string]string{"abs": outside, "up": strings.Repeat("../", 20) + outside} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	host := New(root.FS())
	for _, name := range []string{"/abs", "/up"} {
		if got, err := host.ReadFile(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadFile(%q) = %q, %v: want a file that does not exist", name, got, err)
		}
	}
	if _, err := host.ReadFile("/fifo"); !errors.Is(err, ErrRefused) {
		t.Errorf("a named pipe: %v", err)
	}
}

// Glob gives what filepath.Glob gives on the same tree.
func TestGlobAgreesWithFilepath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"conf.d/a.toml", "conf.d/b.toml", "conf.d/.h.toml", "conf.d/README", "conf.d/x[y].toml", "conf.d/s/c.toml", "other/a.toml", "z"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"conf.d/link.toml": "a.toml", "conf.d/gone.toml": "nowhere", "ln": "conf.d"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot("/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	host := New(root.FS())
	for _, pattern := range []string{
		"conf.d/*.toml", "conf.d/*", "*/*.toml", "*", "conf.d/**/*.toml", "conf.d/[ab]*", "conf.d/[^a]*.toml", "conf.d/?.toml*",
		"nowhere/*", "z/*", "conf.d/x\\[y\\]*", "ln/*.toml", "l*/a*", "conf.d/.*", "conf.d/*/", "*/s/*", "conf.d/[", "conf.d/*[", "conf.d/[z-a]*", "conf.d/\\",
	} {
		pattern = dir + "/" + pattern
		want, wantErr := filepath.Glob(pattern)
		got, err := host.Glob(pattern)
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, wantErr) {
			t.Errorf("Glob(%q): %v, want %v; -want +got:\n%s", pattern, err, wantErr, diff)
		}
	}
}

func TestGlobRefusesAMillionMatches(t *testing.T) {
	tree := fstest.MapFS{}
	for i := range maxDirEntries + 1 {
		tree[fmt.Sprintf("conf.d/%d.toml", i)] = file("")
	}
	if _, err := New(tree).Glob("/conf.d/*.toml"); !errors.Is(err, ErrRefused) {
		t.Errorf("want a refusal, got %v", err)
	}
	if _, err := New(fstest.MapFS{}).Glob(strings.Repeat("/*", 1_000_000)); !errors.Is(err, filepath.ErrBadPattern) {
		t.Errorf("want a bad pattern, got %v", err)
	}
}

func TestExecutable(t *testing.T) {
	host := New(fstest.MapFS{
		"usr/bin/runc": {Mode: 0o755}, "usr/bin/text": {Mode: 0o644}, "usr/bin/ln": link("/usr/bin/runc"),
	})
	for name, want := range map[string]error{
		"/usr/bin/runc": nil, "/usr/bin/ln": nil, "/usr/bin/text": fs.ErrPermission, "/usr/bin/none": fs.ErrNotExist, "/usr/bin": syscall.EISDIR,
	} {
		if err := host.Executable(name); !errors.Is(err, want) {
			t.Errorf("Executable(%q) = %v, want %v", name, err, want)
		}
	}
}

// A closedFS lets nobody open one of its files.
type closedFS struct {
	fstest.MapFS
	name string
}

func (c closedFS) Open(name string) (fs.File, error) {
	if name == c.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.MapFS.Open(name)
}

// What this program may not open a runtime may, so that it says nothing of the runtime.
func TestNoPermissionIsARefusal(t *testing.T) {
	files := fstest.MapFS{"conf.d/a.toml": {Data: []byte("a")}}
	if _, err := New(closedFS{files, "conf.d/a.toml"}).ReadFile("/conf.d/a.toml"); !errors.Is(err, ErrRefused) {
		t.Errorf("a file: got %v", err)
	}
	if _, err := New(closedFS{files, "conf.d"}).Glob("/conf.d/*.toml"); !errors.Is(err, ErrRefused) {
		t.Errorf("a folder: got %v", err)
	}
}
