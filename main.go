// Command runtimegate is the gate between a Kubernetes cluster and the
// container runtimes of its nodes.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// An exitError carries the exit code a command has promised for its outcome.
// A nil err means that everything to say was said on stdout.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func main() {
	os.Exit(run(os.Args[1:]))
}

// run executes one command line and returns its exit code: 0 done, 1 the
// command found what it looks for (see each command), 2 it could not tell.
func run(args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	code := 2
	var exit *exitError
	if errors.As(err, &exit) {
		code = exit.code
		err = exit.err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	return code
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "runtimegate",
		Short:         "Checks that nodes have loaded the runtime handlers that Pods ask for",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newServeCommand(), newReportCommand(), newCrosscheckCommand(), newExplainCommand(), newLintCommand(), newWhyCommand(), newStatusCommand(), newSelftestCommand(), newVersionCommand())
	return root
}
