// Package e2e runs runtimegate against a real control plane, asked through the
// real kubectl. See README.md for how to add a scenario.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

var update = flag.Bool("update", false, "write what the sessions print into their files")

// What TestMain gives to the tests.
var (
	interrupted context.Context // ends at a Ctrl-C, so that the tests clean up
	bin, root   string
)

func TestMain(m *testing.M) {
	harness.Main(func(ctx context.Context, programs, repository string) int {
		interrupted, bin, root = ctx, programs, repository
		code := m.Run()
		if len(skipped) > 0 {
			fmt.Printf("e2e: %d SKIPPED: %s\n", len(skipped), strings.Join(skipped, "; "))
		}
		return code
	})
}

// skipped are the tests that this host does not let run; they are told of at
// the end, where nobody overlooks them.
var skipped []string

func skip(t *testing.T, why error) {
	t.Helper()
	skipped = append(skipped, fmt.Sprintf("%s: %v", t.Name(), why))
	t.Skip(why)
}

// startCluster starts a cluster for one test, which runs beside others from here
// on: a control plane spends much of its start waiting.
func startCluster(t *testing.T) *harness.Cluster {
	t.Helper()
	t.Parallel()
	c, err := harness.StartCluster(interrupted, bin, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// must stops the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
