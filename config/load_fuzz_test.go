package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

var fuzzRuntimes = []string{"1.6.20", "1.7.27", "2.0.5", "2.2.9", "2.3.4", "2.4.2", "cri-o 1.37.0"}

// FuzzLoad: any files are answered or refused, without a panic, and the answer
// holds together.
func FuzzLoad(f *testing.F) {
	_ = filepath.WalkDir("testdata/truth/cases", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "config.toml" {
			main, _ := os.ReadFile(p)
			dropIn := []byte("[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.kata]\n")
			if more, _ := filepath.Glob(filepath.Dir(p) + "/conf.d/*"); len(more) > 0 {
				dropIn, _ = os.ReadFile(more[0])
			}
			f.Add(main, dropIn, uint8(len(main)))
		}
		return nil
	})
	f.Fuzz(func(t *testing.T, main, dropIn []byte, version uint8) {
		if len(main)+len(dropIn) > 64<<10 {
			return
		}
		rt := mustRuntime(t, fuzzRuntimes[int(version)%len(fuzzRuntimes)])
		host := hostfs.New(fstest.MapFS{
			"t/config.toml": {Mode: 0o644, Data: main}, "t/conf.d/a.toml": {Mode: 0o644, Data: dropIn},
			"t/config.toml.d/a": {Mode: 0o644, Data: dropIn}, "usr/bin/runc": {Mode: 0o755},
		})
		r, err := Load(host, Options{Runtime: rt, Path: "/t/config.toml"})
		if err != nil {
			if !errors.Is(err, hostfs.ErrRefused) {
				t.Fatalf("neither an answer nor a refusal: %v", err)
			}
			return
		}
		checkResult(t, r)
	})
}

func checkResult(t *testing.T, r *Result) {
	t.Helper()
	if (r.Dump.Exit != 0) != (r.Dump.Error != "") {
		t.Errorf("exit %d with error %q", r.Dump.Exit, r.Dump.Error)
	}
	if (r.Daemon.State != Running) != (r.Daemon.Reason != "") {
		t.Errorf("%s with reason %q", r.Daemon.State, r.Daemon.Reason)
	}
	if r.Dump.Exit != 0 && r.Daemon.State != NoStart {
		t.Errorf("the dump fails (%s), and the daemon is %s", r.Dump.Error, r.Daemon.State)
	}
	if !slices.IsSorted(r.Dump.CRI.Names()) || !slices.IsSorted(r.Daemon.CRI.Names()) {
		t.Error("handlers are not sorted")
	}
	final := r.Final()
	for _, h := range r.Handlers {
		_, loaded := final.Handler(h.Name)
		if loaded != (h.Fate == Loaded || h.Fate == Merged) {
			t.Errorf("handler %q is %s, and loaded is %v", h.Name, h.Fate, loaded)
		}
	}
	if r.Daemon.State != Running && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error }) {
		t.Errorf("%s without a finding that says so", r.Daemon.State)
	}
	if r.Daemon.State == Running && r.Runtime.Name == Containerd {
		if _, ok := final.Handler(final.DefaultHandler); !ok {
			t.Errorf("it runs without its default handler %q", final.DefaultHandler)
		}
	}
}

// FuzzOutline: any bytes have an outline whose places are in the file.
func FuzzOutline(f *testing.F) {
	f.Add([]byte("a.b = {c = [1, {d = 2}]}\n[x.'y z']\n[[q]]\n"))
	f.Add([]byte("\xef\xbb\xbfa = 1\r# \xff\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkSize(data) != nil || len(data) > 64<<10 {
			return
		}
		o := scanOutline(data)
		lines := len(o.newlines) + 1
		for _, m := range o.marks {
			if m.at.line < 1 || m.at.line > lines || m.at.column < 1 || len(m.path) == 0 {
				t.Fatalf("%q is at %d:%d of %d lines", m.path, m.at.line, m.at.column, lines)
			}
		}
		_, _ = oldText(data, reflect.TypeFor[file2]())
	})
}
