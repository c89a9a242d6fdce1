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

// runtimes are the versions to explain t for: those given, else the one of the
// program on this machine.
func (o *explainOptions) runtimes(ctx context.Context, t *target, versions []string) ([]config.Runtime, error) {
	if len(versions) == 0 {
		version, err := o.askVersion(ctx, t)
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

// askVersion asks the runtime's program of this machine for its version.
func (o *explainOptions) askVersion(ctx context.Context, t *target) (string, error) {
	hint := "say it with --runtime-version, as in --runtime-version 2.4.2"
	if o.root != "/" {
		return "", fmt.Errorf("the rules depend on the runtime's version, and of another root it can't be asked: %s (a Node's status has it: kubectl get node -o wide)", hint)
	}
	program := t.program
	name := t.programName()
	if t.Bin == "" {
		// Whatever PATH says comes before a guess.
		if found, err := exec.LookPath(name); err == nil {
			program = found
		}
	}
	if program == "" {
		return "", fmt.Errorf("the rules depend on the runtime's version, and there is no %s here to ask: %s", name, hint)
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w: %s", program, pathCause(err), hint)
	}
	version := anyVersion.FindString(string(out))
	if version == "" {
		return "", fmt.Errorf("%s --version printed no version: %s", program, hint)
	}
	return version, nil
}
