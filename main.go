// Command runtimegate is the gate between a Kubernetes cluster and the
// container runtimes of its nodes.
//
// Each command stands in files of its own, named after it, with a function
// newXCommand that makes the cobra.Command, and has one line in commands below.
// It reads from cmd.InOrStdin, prints to cmd.OutOrStdout and cmd.ErrOrStderr,
// and ends with oneLine(o.run(cmd)): nil is exit code 0, an *exitError carries
// another one, and any other error is told on stderr and is exit code 2.
// Commands that ask the cluster take newClusterFlags and clusterConfig.
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
	code, err := exitCode(root.Execute())
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	return code
}

// commands are all there are.
var commands = []func() *cobra.Command{
	newServeCommand,
	newReportCommand,
	newCrosscheckCommand,
	newExplainCommand,
	newLintCommand,
	newMigrateCommand,
	newWhyCommand,
	newStatusCommand,
	newSelftestCommand,
	newVersionCommand,
	newManCommand,
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "runtimegate",
		Short:         "Checks that nodes have loaded the runtime handlers that Pods ask for",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	for _, newCommand := range commands {
		root.AddCommand(newCommand())
	}
	completeFlags(root)
	refuseOtherShells(root)
	if isPlugin(os.Args[0]) {
		asPlugin(root)
	}
	return root
}

// atMostOne is for commands that take one argument, which may be left out.
func atMostOne(what, hint string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%q is one argument too many: want one %s at most; %s", args[1], what, hint)
		}
		return nil
	}
}

// exitCode is that of a command which ended with err, and what is to be told of
// it.
func exitCode(err error) (code int, tell error) {
	var exit *exitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.code, exit.err
	}
	return 2, err
}
