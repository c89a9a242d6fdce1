package harness

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/runtimegate/runtimegate/e2e/build"
)

// Main is what a TestMain does: it parses the flags, builds the programs, runs the
// tests with them, and ends the process with the code that these return. The context
// ends at a Ctrl-C, so that the tests clean up; bin has the programs, and root is the
// repository.
func Main(tests func(interrupted context.Context, bin, root string) (code int)) {
	flag.Parse()
	code, err := runBuilt(tests)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	os.Exit(code)
}

func runBuilt(tests func(interrupted context.Context, bin, root string) (code int)) (code int, err error) {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bin, err := build.All(interrupted, os.Stdout)
	if err != nil {
		return 1, err
	}
	root, err := build.Root()
	if err != nil {
		return 1, err
	}
	return tests(interrupted, bin, root), nil
}
