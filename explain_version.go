package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/runtimegate/runtimegate/config"
)

// runtimes are the versions asked for, and without any that of this machine.
func (o *explainOptions) runtimes(ctx context.Context, kind config.Runtime) ([]config.Runtime, error) {
	if len(o.versions) == 0 {
		rt, err := o.askVersion(ctx, kind.Name)
		if err != nil {
			return nil, fmt.Errorf("which version of the runtime? %w: give --runtime-version", err)
		}
		return []config.Runtime{rt}, nil
	}
	var all []config.Runtime
	for _, v := range o.versions {
		rt, err := config.ParseRuntime(v)
		if err != nil {
			return nil, fmt.Errorf("--runtime-version: %w", err)
		}
		if kind.Name == config.CRIO && rt.Name != config.CRIO {
			if rt, err = config.ParseRuntime("cri-o " + v); err != nil {
				return nil, err
			}
		}
		all = append(all, rt)
	}
	return all, nil
}

var anyVersion = regexp.MustCompile(`v?\d+\.\d+\.\d+[^\s,]*`)

// askVersion runs the runtime's own program, which prints its version. Those
// below --root are never run: they may be of another machine.
func (o *explainOptions) askVersion(ctx context.Context, name string) (config.Runtime, error) {
	if filepath.Clean(o.root) != "/" {
		return config.Runtime{}, errors.New("--root may be another machine's")
	}
	program := "containerd"
	if name == config.CRIO {
		program = "crio"
	}
	at, err := exec.LookPath(program)
	if err != nil {
		return config.Runtime{}, fmt.Errorf("%s is not on the PATH", program)
	}
	ctx, cancel := context.WithTimeout(ctx, containerdTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, at, "--version").Output()
	if err != nil {
		return config.Runtime{}, fmt.Errorf("%s --version: %w", at, err)
	}
	version := anyVersion.FindString(string(out))
	if version == "" {
		return config.Runtime{}, fmt.Errorf("%s --version says %.80q", at, out)
	}
	if name == "" {
		name = config.Containerd
	}
	return config.ParseRuntime(name + " " + version)
}
