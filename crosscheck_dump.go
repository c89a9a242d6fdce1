package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/runtimegate/runtimegate/config"
)

// readDumpArgument reads the dump that the command line names.
func readDumpArgument(arg string, stdin io.Reader) (*config.Dump, error) {
	if arg == "-" {
		return config.ReadDump(stdin, "stdin")
	}
	f, err := os.Open(arg)
	if err != nil {
		return nil, fmt.Errorf("dump %s: %w", arg, pathCause(err))
	}
	defer f.Close()
	return config.ReadDump(f, arg)
}

// pathCause takes the operation and the path, which the caller names, off an
// error of os.
func pathCause(err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return perr.Err
	}
	return err
}

// containerdTimeout bounds a containerd that hangs.
const containerdTimeout = 30 * time.Second

var containerdVersion = regexp.MustCompile(`\b\d+\.\d+\.\d+`)

// early20 are the versions of containerd whose "config dump" does not migrate
// a version 2 file (containerd#11600, fixed in 2.0.6), though their
// "config migrate" does.
var early20 = regexp.MustCompile(`\bv?2\.0\.[0-5](?:\D|$)`)

// dumpOfContainerd asks the containerd of this machine for its dump.
func dumpOfContainerd(ctx context.Context, stderr io.Writer) (*config.Dump, error) {
	path, err := exec.LookPath("containerd")
	if err != nil {
		return nil, errors.New(`containerd is not on the PATH: name the file of a dump, or pipe "containerd config dump" into "crosscheck -"`)
	}
	ctx, cancel := context.WithTimeout(ctx, containerdTimeout)
	defer cancel()
	verb := "dump"
	// Without a version the dump itself tells, if less surely.
	version, _ := exec.CommandContext(ctx, path, "--version").Output()
	if early20.Match(version) {
		verb = "migrate"
	}
	dump, err := runContainerd(ctx, stderr, path, "config", verb)
	if err != nil {
		return nil, err
	}
	if containerdVersion.Match(version) {
		dump.MaybeUnmigrated = false
	}
	if verb == "migrate" {
		dump.Notes = append(dump.Notes, "this containerd's config dump leaves out what a version 2 file defines (containerd#11600): its config migrate was read instead")
	}
	return dump, nil
}

// runContainerd runs it and reads what it prints; its stderr is passed on.
func runContainerd(ctx context.Context, stderr io.Writer, path string, args ...string) (*config.Dump, error) {
	name := "containerd " + args[0] + " " + args[1]
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stderr = stderr
	// A child of containerd that holds the pipe open must not hold us.
	cmd.WaitDelay = time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, pathCause(err))
	}
	dump, readErr := config.ReadDump(stdout, name)
	// What is left is not wanted, but a full pipe must not stop it from ending;
	// one that never ends is cut off.
	rest, _ := io.Copy(io.Discard, io.LimitReader(stdout, config.MaxDumpBytes))
	stdout.Close()
	if err := cmd.Wait(); err != nil && rest < config.MaxDumpBytes {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: no answer within %s", name, containerdTimeout)
		}
		return nil, fmt.Errorf("%s: %w (what it said stands above)", name, err)
	}
	return dump, readErr
}
