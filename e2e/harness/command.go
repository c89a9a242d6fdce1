package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// commandTimeout bounds one command, so that none can hang a test.
const commandTimeout = 2 * time.Minute

// A Result is what a command left.
type Result struct {
	Stdout, Stderr string
	Exit           int
}

// Shell runs a line in a shell as a person would, with stdout and stderr mixed
// in the order of writing, and returns what was printed.
func (c *Cluster) Shell(ctx context.Context, dir, line string) (output string, exit int, err error) {
	var both bytes.Buffer
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	exit, err = c.run(ctx, cmd, &both, &both)
	return both.String(), exit, err
}

// Command runs one of the programs, or any other, in the cluster's
// environment. A non-zero exit is no error.
func (c *Cluster) Command(ctx context.Context, stdin string, args ...string) (Result, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(c.program(args[0]), args[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	exit, err := c.run(ctx, cmd, &stdout, &stderr)
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Exit: exit}, err
}

// Must is Command for what has to succeed; it returns stdout.
func (c *Cluster) Must(ctx context.Context, stdin string, args ...string) (string, error) {
	result, err := c.Command(ctx, stdin, args...)
	if err == nil && result.Exit != 0 {
		err = fmt.Errorf("exit code %d: %s", result.Exit, strings.TrimSpace(result.Stderr+result.Stdout))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return result.Stdout, nil
}

func (c *Cluster) run(ctx context.Context, cmd *exec.Cmd, stdout, stderr io.Writer) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commandTimeout, errors.New("took too long"))
	defer cancel()
	cmd.Env = c.Env()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	exited := make(chan struct{})
	if err := startTied(nil, cmd, func() { close(exited) }); err != nil {
		return 0, err
	}
	select {
	case <-exited:
		return cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error says that it has ended
		<-exited
		return 0, context.Cause(ctx)
	}
}
