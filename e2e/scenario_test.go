package e2e

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/runtimegate/runtimegate/e2e/harness"
	"github.com/runtimegate/runtimegate/e2e/session"
)

// TestScenarios plays each folder of scenarios in a cluster of its own, and the
// demo's two sessions like them.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("scenarios/*/scenario.yaml")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("no scenario found")
	}
	var ran atomic.Int32
	t.Cleanup(func() { fmt.Printf("e2e: %d of %d scenarios ran to their end\n", ran.Load(), len(files)) })
	for _, file := range files {
		s, err := harness.LoadScenario(filepath.Dir(file))
		must(t, err)
		t.Run(filepath.Base(s.Dir), func(t *testing.T) {
			t.Log(s.About)
			c := startCluster(t)
			must(t, s.SetUp(interrupted, c, root))
			play(t, c, s.SessionPath())
			ran.Add(1)
		})
	}
}

// play runs a session's commands and compares what they print.
func play(t *testing.T, c *harness.Cluster, path string) {
	t.Helper()
	playWith(t, path, func(step *session.Step) (output string, exit int, err error) {
		return c.Shell(interrupted, filepath.Dir(path), step.Command)
	})
}

// playWith is play with another way to run the commands.
func playWith(t *testing.T, path string, run func(*session.Step) (output string, exit int, err error)) {
	t.Helper()
	s, err := session.Read(path)
	must(t, err)
	for i := range s.Steps {
		step := &s.Steps[i]
		output, exit, err := run(step)
		if err != nil {
			t.Fatalf("$ %s\n%v", step.Command, err)
		}
		got := session.Lines(output, exit)
		switch {
		case *update:
			step.Update(got)
		case !step.Matches(got):
			t.Errorf("%s: %s", path, step.Mismatch(got))
		}
	}
	if *update {
		must(t, s.Write())
	}
}
