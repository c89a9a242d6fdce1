package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config"
)

// writerOf is a writer on a root with two files that are to be changed.
func writerOf(t *testing.T) (*fileWriter, []config.UpgradedFile, string) {
	t.Helper()
	dir := t.TempDir()
	files := []config.UpgradedFile{
		{Path: "/etc/a.toml", Real: "etc/a.toml", Old: []byte("old a\n"), New: []byte("new a\n")},
		{Path: "/etc/same.toml", Real: "etc/same.toml", Old: []byte("same\n"), New: []byte("same\n")},
		{Path: "/etc/b.toml", Real: "etc/b.toml", Old: []byte("old b\n"), New: []byte("new b\n")},
	}
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Real), f.Old, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &fileWriter{root: root, stamp: "T"}, files, dir
}

// contentOf is what a folder holds: names, modes and contents.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = info.Mode().String() + " " + strings.TrimSpace(string(data))
	}
	return all
}

var oldContent = map[string]string{"a.toml": "-rw-r----- old a", "same.toml": "-rw-r----- same", "b.toml": "-rw-r----- old b"}

func TestFileWriter(t *testing.T) {
	w, files, dir := writerOf(t)
	if _, err := w.write(files); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.toml": "-rw-r----- new a", "a.toml.runtimegate-T": "-rw-r----- old a", "same.toml": "-rw-r----- same",
		"b.toml": "-rw-r----- new b", "b.toml.runtimegate-T": "-rw-r----- old b",
	}
	if diff := cmp.Diff(want, contentOf(t, filepath.Join(dir, "etc"))); diff != "" {
		t.Error(diff)
	}
}

// TestFileWriterFails: whatever fails, all files are as they were, and nothing
// lies about.
func TestFileWriterFails(t *testing.T) {
	tests := map[string]struct {
		// before staging, and between staging and replacing
		before, between func(t *testing.T, dir string)
		err             string
	}{
		"a file is replaced and the next cannot be": {
			between: func(t *testing.T, dir string) {
				temps, _ := filepath.Glob(dir + "/.b.toml.*")
				if len(temps) != 1 || os.Remove(temps[0]) != nil {
					t.Errorf("staged: %v", temps)
				}
			},
			err: "write /etc/b.toml: no such file or directory; all files are as they were",
		},
		"a file was changed meanwhile": {
			before: func(t *testing.T, dir string) { mustWrite(t, dir+"/b.toml", "old b, changed\n") },
			err:    "write /etc/b.toml: it was changed meanwhile: try again; all files are as they were",
		},
		"a backup is there already": {
			before: func(t *testing.T, dir string) { mustWrite(t, dir+"/b.toml.runtimegate-T", "older\n") },
			err:    "write /etc/b.toml: keep the old one: b.toml.runtimegate-T is there already; all files are as they were",
		},
		"a file has become a link out of the root": {
			before: func(t *testing.T, dir string) {
				outside := filepath.Join(t.TempDir(), "outside")
				mustWrite(t, outside, "old b\n")
				if os.Remove(dir+"/b.toml") != nil || os.Symlink(outside, dir+"/b.toml") != nil {
					t.Error("no link")
				}
			},
			err: "write /etc/b.toml: it is no regular file any more; all files are as they were",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, files, dir := writerOf(t)
			dir = filepath.Join(dir, "etc")
			if tt.before != nil {
				tt.before(t, dir)
			}
			before := contentOf(t, dir)
			var err error
			if tt.between == nil {
				_, err = w.write(files)
			} else {
				for _, i := range []int{0, 2} {
					if err := w.stage(&files[i]); err != nil {
						t.Fatal(err)
					}
				}
				tt.between(t, dir)
				_, err = w.replace()
			}
			if err == nil || err.Error() != tt.err {
				t.Errorf("error %v, want %s", err, tt.err)
			}
			if diff := cmp.Diff(before, contentOf(t, dir)); diff != "" {
				t.Error(diff)
			}
			if tt.before == nil {
				if diff := cmp.Diff(oldContent, contentOf(t, dir)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func mustWrite(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}
