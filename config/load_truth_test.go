package config

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// truthDir is where the trees stand on the host of the tests.
const truthDir = "/etc/tree"

// A truthRow is what a real containerd answered for a tree.
type truthRow struct {
	Case    string `json:"case"`
	Version string `json:"version"`
	Dump    struct {
		Exit           int      `json:"exit"`
		Handlers       []string `json:"handlers"`
		DefaultHandler *string  `json:"defaultHandler"`
		Error          string   `json:"error"`
	} `json:"dump"`
	Daemon *struct {
		State          DaemonState `json:"state"`
		Handlers       []string    `json:"handlers"`
		DefaultHandler string      `json:"defaultHandler"`
		Error          string      `json:"error"`
	} `json:"daemon"`
}

func readRows[T any](t testing.TB, file string) []T {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row T
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// hostOf is a host with the tree of a folder at dir; @DIR@ in a file stands
// for dir.
func hostOf(t testing.TB, tree, dir string) *hostfs.FS {
	t.Helper()
	m := fstest.MapFS{}
	err := filepath.WalkDir(tree, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(tree, p)
		name := strings.TrimPrefix(filepath.Join(dir, rel), "/")
		switch {
		case d.IsDir():
			m[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			m[name] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(strings.ReplaceAll(target, "@DIR@", dir))}
		default:
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			m[name] = &fstest.MapFile{Mode: 0o644, Data: bytes.ReplaceAll(data, []byte("@DIR@"), []byte(dir))}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hostfs.New(m)
}

func mustRuntime(t testing.TB, text string) Runtime {
	t.Helper()
	rt, err := ParseRuntime(text)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// What is compared of a row.
type truthAnswer struct {
	Exit          int
	Dump          []string
	DumpDefault   string
	State         DaemonState
	Daemon        []string
	DaemonDefault string
}

func (row truthRow) want() truthAnswer {
	w := truthAnswer{Exit: row.Dump.Exit, Dump: row.Dump.Handlers}
	if row.Dump.DefaultHandler != nil {
		w.DumpDefault = *row.Dump.DefaultHandler
	}
	if row.Daemon != nil {
		w.State, w.Daemon, w.DaemonDefault = row.Daemon.State, row.Daemon.Handlers, row.Daemon.DefaultHandler
	}
	return w
}

func (row truthRow) got(r *Result) truthAnswer {
	g := truthAnswer{Exit: r.Dump.Exit, Dump: r.Dump.CRI.Names(), DumpDefault: r.Dump.CRI.DefaultHandler}
	if row.Daemon != nil {
		g.State, g.Daemon, g.DaemonDefault = r.Daemon.State, r.Daemon.CRI.Names(), r.Daemon.CRI.DefaultHandler
	}
	return g
}

var nilIsEmpty = cmp.Transformer("", func(s []string) []string { return append([]string{}, s...) })

// Real builds of containerd answered for each tree (testdata/truth): the
// loader answers the same.
func TestLoadAnswersAsContainerdDid(t *testing.T) {
	rows := readRows[truthRow](t, "testdata/truth/expected.jsonl")
	daemons := 0
	for _, row := range rows {
		host := hostOf(t, filepath.Join("testdata/truth/cases", row.Case), truthDir)
		r, err := Load(host, Options{Runtime: mustRuntime(t, row.Version), Path: truthDir + "/config.toml"})
		if err != nil {
			t.Errorf("%s with %s: %v", row.Case, row.Version, err)
			continue
		}
		if row.Daemon != nil {
			daemons++
		}
		if diff := cmp.Diff(row.want(), row.got(r), nilIsEmpty); diff != "" {
			t.Errorf("%s with %s: %s\ndump says %q, real %q\ndaemon says %q", row.Case, row.Version, diff, r.Dump.Error, row.Dump.Error, r.Daemon.Reason)
		}
	}
	t.Logf("%d rows, %d of them with a daemon", len(rows), daemons)
}
