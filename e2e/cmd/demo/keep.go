package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// With --keep the story is told by a second process, the keeper, which stays
// when the first one, that the user waits for, has ended. Until then it ends
// with the first one: it reads from a pipe that only that one holds open.

// keeperEnv marks the keeper.
const keeperEnv = "RUNTIMEGATE_DEMO_KEEPER"

// toldFd is where the keeper says that it has told the story.
const toldFd = 3

// startKeeper starts the keeper and returns when it has told its story.
func startKeeper(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	told, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer told.Close()
	keeper := exec.Command(self, os.Args[1:]...)
	keeper.Env = append(os.Environ(), keeperEnv+"=1")
	keeper.Stdout, keeper.Stderr = os.Stdout, os.Stderr
	keeper.ExtraFiles = []*os.File{tell}
	keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	alive, err := keeper.StdinPipe()
	if err != nil {
		return err
	}
	if err := keeper.Start(); err != nil {
		return err
	}
	tell.Close() // now only the keeper can write to it
	defer context.AfterFunc(ctx, func() { alive.Close() })()
	if n, _ := told.Read(make([]byte, 1)); n == 1 {
		return nil
	}
	_ = keeper.Wait() // it has said on stderr why it ended
	return errors.New("the demo ended before its time")
}

// beKeeper tells the story and stays up after it until told to stop.
func beKeeper(ctx context.Context, tell func(context.Context, func() error) error) error {
	unix.CloseOnExec(toldFd) // what runs here is not to hold it open
	signal.Ignore(syscall.SIGHUP)
	storyCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	told := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the first process
		select {
		case <-told:
		default:
			cancel()
		}
	}()
	return tell(storyCtx, func() error {
		close(told)
		if err := letGo(); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
}

// letGo tells the first process that the story is told, and leaves its output
// to it: a pipe that reads the demo's output is not held open.
func letGo() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for _, fd := range []int{1, 2} {
		if err := unix.Dup2(int(null.Fd()), fd); err != nil {
			return fmt.Errorf("leave the terminal: %w", err)
		}
	}
	first := os.NewFile(toldFd, "the first process")
	defer first.Close()
	_, err = first.WriteString("1")
	return err
}
