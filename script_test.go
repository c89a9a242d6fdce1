package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts run this very program, as it is and as a plugin.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"runtimegate": main, pluginName: main})
}

// TestScripts plays the sessions in testdata/script: each is a command line
// tool's contract with exact output and exit codes. Run with -update to write
// the output anew.
func TestScripts(t *testing.T) {
	dumps, err := filepath.Abs("config/testdata/dumps")
	if err != nil {
		t.Fatal(err)
	}
	statuses, err := filepath.Abs("config/testdata/status")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("DUMPS", dumps)
			env.Setenv("STATUS", statuses)
			// No kubeconfig of the machine may leak in.
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "kubeconfig"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": scriptCode, "cri": scriptCRI},
	})
}

// scriptCode is "code N program args…": it runs the program and wants exactly
// the exit code N. Its output is there for stdout, stderr and cmp.
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
