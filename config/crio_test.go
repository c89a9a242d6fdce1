package config

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type crioRow struct {
	Case           string   `json:"case"`
	Version        string   `json:"version"`
	Exit           int      `json:"exit"`
	Handlers       []string `json:"handlers"`
	DefaultHandler *string  `json:"defaultHandler"`
}

// A real CRI-O printed its configuration for each tree (testdata/truth/crio).
func TestLoadAnswersAsCRIODid(t *testing.T) {
	rows := readRows[crioRow](t, "testdata/truth/crio/expected.jsonl")
	for _, row := range rows {
		host := hostOf(t, filepath.Join("testdata/truth/crio", row.Case), truthDir)
		r, err := Load(host, Options{Runtime: mustRuntime(t, "cri-o "+row.Version), Path: truthDir + "/crio.conf", DropInDir: truthDir + "/d"})
		if err != nil {
			t.Errorf("%s: %v", row.Case, err)
			continue
		}
		want := truthAnswer{Exit: row.Exit, Dump: row.Handlers}
		if row.DefaultHandler != nil {
			want.DumpDefault = *row.DefaultHandler
		}
		got := truthAnswer{Exit: r.Dump.Exit, Dump: r.Dump.CRI.Names(), DumpDefault: r.Dump.CRI.DefaultHandler}
		if diff := cmp.Diff(want, got, nilIsEmpty); diff != "" {
			t.Errorf("%s: %s\nsays %q", row.Case, diff, r.Dump.Error)
		}
	}
	t.Logf("%d rows", len(rows))
}
