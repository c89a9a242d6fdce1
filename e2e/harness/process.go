// Package harness starts and stops what the tests and the demo run: a control
// plane, kwok for its nodes, and runtimegate, all on the loopback address with
// their files in one folder. Nothing that it started outlives its process,
// however that ends.
package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A Process is a program that runs in the background.
type Process struct {
	Name   string
	Log    string        // the file of its output
	Exited chan struct{} // closed when it has ended
	cmd    *exec.Cmd
}

// startProcess starts a program with its output going to a file.
func startProcess(name, log string, cmd *exec.Cmd) (*Process, error) {
	return startInside(nil, name, log, cmd)
}

// startInside is startProcess for a program that is to have the mounts of
// another process and to be among its processes.
func startInside(host *Process, name, log string, cmd *exec.Cmd) (*Process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if cmd.Stdout == nil {
		cmd.Stdout = file
	}
	cmd.Stderr = file
	p := &Process{Name: name, Log: log, Exited: make(chan struct{}), cmd: cmd}
	if err := startTied(host, cmd, func() { close(p.Exited) }); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// startTied starts a program in a process group of its own (a Ctrl-C reaches
// only this process, which then ends the others in order) that is killed when
// this process dies. The kernel takes the end of the starting thread for that
// death, so the thread is kept until the program has ended.
//
// Given a host, the program is in its namespaces and dies with that instead: Go
// takes a parent that it can't see from there for a dead one.
func startTied(host *Process, cmd *exec.Cmd, exited func()) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if host == nil {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		if host != nil {
			err = joinNamespaces(host.Pid())
		}
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // its ProcessState says how it went
			exited()
		}
	}()
	return <-started
}

// Pid is the id of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill ends the process and its children at once.
func (p *Process) Kill() {
	_ = syscall.Kill(-p.Pid(), syscall.SIGKILL) // an error says that it has ended
	<-p.Exited
}

// Signal sends the process a signal.
func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Terminate asks the process to end, waits for that, and returns its exit code.
func (p *Process) Terminate(timeout time.Duration) (int, error) {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, fmt.Errorf("stop %s: %w", p.Name, err)
	}
	select {
	case <-p.Exited:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(timeout):
		p.Kill()
		return 0, fmt.Errorf("%s did not stop within %s; its last words:\n%s", p.Name, timeout, p.Tail())
	}
}

// Tail is the last part of the process's output.
func (p *Process) Tail() string {
	const lines = 20
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// WaitFor polls until ok gives no error, and fails when the process ends before,
// or with ok's last error when the time is over.
func (p *Process) WaitFor(ctx context.Context, what string, timeout time.Duration, ok func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.Exited:
			cancel(fmt.Errorf("%s ended (%s); its last words:\n%s", p.Name, p.cmd.ProcessState, p.Tail()))
		case <-ctx.Done():
		}
	}()
	return Poll(ctx, what, timeout, ok)
}

// Poll calls ok until it gives no error. When the time is over it gives ok's
// last error.
func Poll(ctx context.Context, what string, timeout time.Duration, ok func(context.Context) error) error {
	deadline := time.Now().Add(timeout)
	for {
		err := ok(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("wait for %s, %s: %w", what, timeout, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
