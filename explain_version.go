package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
	"github.com/runtimegate/runtimegate/inventory/cri"
)

// runtimeName reads the value of --runtime.
func runtimeName(text string) (string, error) {
	switch strings.ToLower(text) {
	case "":
		return "", nil
	case config.Containerd:
		return config.Containerd, nil
	case config.CRIO, "crio":
		return config.CRIO, nil
	}
	return "", fmt.Errorf("--runtime %q: want containerd or crio", text)
}

// splitVersions splits the values of --runtime-version and finds out which
// runtime they name, "" when they say numbers only.
func splitVersions(values []string) (versions []string, runtime string, err error) {
	for _, value := range values {
		for text := range strings.SplitSeq(value, ",") {
			text = strings.TrimSpace(text)
			if text == "" {
				return nil, "", fmt.Errorf("--runtime-version %q: empty version", value)
			}
			rt, err := config.ParseRuntime(text)
			if err != nil {
				return nil, "", fmt.Errorf("--runtime-version: %w", err)
			}
			versions = append(versions, text)
			if !namesRuntime.MatchString(text) {
				continue
			}
			if runtime != "" && runtime != rt.Name {
				return nil, "", errors.New("--runtime-version names both containerd and CRI-O: one configuration is of one of them")
			}
			runtime = rt.Name
		}
	}
	return versions, runtime, nil
}

// namesRuntime matches a version with a runtime before it.
var namesRuntime = regexp.MustCompile(`^[a-zA-Z]{2}`)

// runtimes are the versions to explain t for: those given, else the one that
// is installed or runs.
func (o *explainOptions) runtimes(ctx context.Context, host *hostfs.FS, t *target, versions []string) ([]config.Runtime, error) {
	if len(versions) == 0 {
		version, err := o.askVersion(ctx, host, t)
		if err != nil {
			return nil, err
		}
		versions = []string{version}
	}
	var out []config.Runtime
	for _, text := range versions {
		if t.Runtime == config.CRIO && !namesRuntime.MatchString(text) {
			text = config.CRIO + "://" + text
		}
		rt, err := config.ParseRuntime(text)
		if err != nil {
			return nil, fmt.Errorf("--runtime-version: %w", err)
		}
		out = append(out, rt)
	}
	return out, nil
}

// versionTimeout bounds a program that hangs.
const versionTimeout = 10 * time.Second

var anyVersion = regexp.MustCompile(`\bv?\d+\.\d+\.\d+\S*`)

// askVersion asks for the version of the runtime that t is for: its program
// here, or else the daemon that runs, on its CRI socket.
func (o *explainOptions) askVersion(ctx context.Context, host *hostfs.FS, t *target) (string, error) {
	version, err := o.askProgram(ctx, t)
	if err == nil {
		return version, nil
	}
	socket := o.socketOf(host, t)
	if socket != "" {
		var socketErr error
		if version, socketErr = o.askSocket(ctx, host, t, socket); socketErr == nil {
			return version, nil
		}
		err = fmt.Errorf("%w, and %w", err, socketErr)
	}
	hint := "say it with --runtime-version, as in --runtime-version 2.4.2"
	if o.root != "/" {
		hint += " (a Node's status has it: kubectl get node -o wide)"
	}
	return "", fmt.Errorf("%w: %s", err, hint)
}

// askProgram asks the runtime's program of this machine for its version.
func (o *explainOptions) askProgram(ctx context.Context, t *target) (string, error) {
	if o.root != "/" {
		return "", errors.New("the rules depend on the runtime's version, and a program of another root can't be run")
	}
	program := t.program
	name := t.ProgramName()
	if t.Bin == "" {
		// Whatever PATH says comes before a guess.
		if found, err := exec.LookPath(name); err == nil {
			program = found
		}
	}
	if program == "" {
		return "", fmt.Errorf("the rules depend on the runtime's version, and there is no %s here to ask", name)
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", program, pathCause(err))
	}
	version := anyVersion.FindString(string(out))
	if version == "" {
		return "", fmt.Errorf("%s --version printed no version", program)
	}
	return version, nil
}

// socketOf is the CRI socket of the runtime that t is for, "" when there is
// none inside the root. Another root's is never that of this machine.
func (o *explainOptions) socketOf(host *hostfs.FS, t *target) string {
	if t.known {
		if host.Exists(t.Socket) {
			return t.Socket
		}
		return ""
	}
	if found, err := cri.Find(host, ""); err == nil && host.Exists(found.Socket) {
		return found.Socket
	}
	return ""
}

func (o *explainOptions) askSocket(ctx context.Context, host *hostfs.FS, t *target, socket string) (string, error) {
	at, err := cri.Dialable(host, o.root, socket)
	if err != nil {
		return "", err
	}
	name, version, err := cri.AskVersion(ctx, at)
	if err != nil {
		return "", err
	}
	if name != t.Runtime {
		return "", fmt.Errorf("the runtime at %s is %s and not %s", socket, name, t.Runtime)
	}
	o.note = fmt.Sprintf("the version is that of the runtime running at %s: if another one has been installed since its start, say that one's (--runtime-version)", socket)
	return version, nil
}
