package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestPrintFindings(t *testing.T) {
	if os.Getenv("P") == "" {
		t.Skip()
	}
	rows := readRows[truthRow](t, "testdata/truth/expected.jsonl")
	for _, row := range rows {
		if row.Version != "1.7.27" && row.Version != "2.2.9" && row.Version != "2.4.2" {
			continue
		}
		host := hostOf(t, filepath.Join("testdata/truth/cases", row.Case), truthDir)
		r, err := Load(host, Options{Runtime: mustRuntime(t, row.Version), Path: truthDir + "/config.toml"})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("## %s %s: %v default %s, %s\n", row.Case, row.Version, r.Dump.CRI.Names(), r.Dump.CRI.DefaultHandler, r.Daemon.State)
		for _, h := range r.Handlers {
			fmt.Printf("   %s %s", h.Name, h.Fate)
			for _, o := range h.Origins {
				fmt.Printf(" %s:%d(%s %s)", filepath.Base(o.File), o.Line, o.Fate, o.Why)
			}
			fmt.Println()
		}
		for _, f := range r.Findings {
			fmt.Printf("   %s %s %s:%d %s: %s -- %s\n", f.Severity, f.Code, filepath.Base(f.File), f.Line, f.Handler, f.Message, f.Fix)
		}
	}
}
