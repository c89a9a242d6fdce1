package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentOf names the file into which a process that is to be killed writes the
// id of what it started.
const parentOf = "HARNESS_TEST_PARENT_OF"

func TestMain(m *testing.M) {
	if path := os.Getenv(parentOf); path != "" {
		beParent(path)
	}
	os.Exit(m.Run())
}

func beParent(path string) {
	p, err := startProcess("child", path+".log", exec.Command("sleep", "600"))
	if err == nil {
		err = os.WriteFile(path+".new", []byte(strconv.Itoa(p.Pid())), 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

func TestAProcessDiesWithTheOneThatStartedIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pid")
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentOf+"="+path)
	parent.Stderr = os.Stderr
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	child := readPid(t, path)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Fatal("the parent ended well although it was killed")
	}
	err := Poll(t.Context(), "the child to die", 10*time.Second, func(context.Context) error {
		if running(child) {
			return fmt.Errorf("process %d still runs", child)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readPid(t *testing.T, path string) int {
	t.Helper()
	var pid int
	err := Poll(t.Context(), "the parent to start its child", 10*time.Second, func(context.Context) error {
		content, err := os.ReadFile(path)
		if err == nil {
			pid, err = strconv.Atoi(string(content))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// running says whether a process runs; one that is dead but that nobody has
// waited for does not.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestTerminateKillsWhatDoesNotStop(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	stubborn := exec.Command("sh", "-c", `trap "" TERM; echo I stay; while :; do sleep 1; done`)
	p, err := startProcess("stubborn", log, stubborn)
	if err != nil {
		t.Fatal(err)
	}
	err = p.WaitFor(t.Context(), "its first word", 10*time.Second, func(context.Context) error {
		if p.Tail() != "I stay" {
			return fmt.Errorf("it said %q", p.Tail())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Terminate(100 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "I stay") {
		t.Errorf("got error %v, want one with its last words", err)
	}
	if running(p.Pid()) {
		t.Error("it still runs")
	}
}

func TestWaitGivesUpOnAProcessThatEnds(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := startProcess("failing", log, exec.Command("sh", "-c", "echo no such file; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	err = p.WaitFor(t.Context(), "what never comes", time.Minute, func(context.Context) error {
		return fmt.Errorf("not yet")
	})
	for _, want := range []string{"failing ended (exit status 3)", "no such file", "what never comes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}
