package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

// A target is the configuration that explain is about.
type target struct {
	config.Location
	// given is set when the command line named the path.
	given bool
	// known is set when Path is where a runtime's daemon looks.
	known bool
	// others are main files that are there too and were not taken.
	others []string
	// program is the daemon's executable, "" when there is none on the host.
	program string
}

// sentence says which configuration it is and why that one.
func (t *target) sentence() string {
	switch {
	case t.given && t.known:
		return fmt.Sprintf("%s's configuration, as given", t.Who)
	case t.given:
		return "as given"
	case t.Path == config.DefaultConfigPath:
		return "containerd's default path"
	}
	return fmt.Sprintf("found: %s's configuration", t.Who)
}

// findTarget decides what to explain: the path given, else what is found.
// runtime is "" unless the command line says which is meant.
func findTarget(host *hostfs.FS, given, runtime string) (*target, error) {
	if given != "" {
		t := targetAt(given, runtime)
		t.program = t.Program(host)
		return t, nil
	}
	found := presentTargets(host, runtime)
	if len(found) == 0 {
		// No file is a configuration too, but only where there is a containerd.
		t := targetAt(config.DefaultConfigPath, "")
		if t.program = t.Program(host); t.program == "" || runtime == config.CRIO {
			advice := "name the file"
			if !host.IsDir("/etc") {
				advice = "there is no /etc, so that --root may not be the node's root; name the file"
			}
			return nil, errors.New("no configuration found: looked at " + strings.Join(knownConfigs(runtime), ", ") + "; " + advice)
		}
		t.given = false
		return t, nil
	}
	t := found[0]
	if len(found) > 1 && t.Path == config.DefaultConfigPath && host.Exists("/run/crio/crio.sock") && !host.Exists("/run/containerd/containerd.sock") {
		// Both are installed, and CRI-O is the one that runs.
		t = found[1]
	}
	for _, other := range found {
		if other.Who != t.Who {
			t.others = append(t.others, other.Path)
		}
	}
	t.program = t.Program(host)
	return t, nil
}

// presentTargets are the known files that are there. A distribution that brings
// its own containerd comes first: it reads nothing of /etc/containerd, though
// installers often leave files there.
func presentTargets(host *hostfs.FS, runtime string) []*target {
	var own, others []*target
	for _, l := range config.Locate(host, runtime) {
		t := &target{Location: l, known: true}
		if l.Bin != "" {
			own = append(own, t)
		} else {
			others = append(others, t)
		}
	}
	return append(own, others...)
}

// targetAt is the target of a path that the command line names.
func targetAt(name, runtime string) *target {
	l, known := config.LocationOf(name, runtime)
	return &target{Location: l, given: true, known: known}
}

func knownConfigs(runtime string) []string {
	var all []string
	for _, l := range config.Locations {
		if runtime == "" || runtime == l.Runtime {
			all = append(all, l.Path)
		}
	}
	return all
}

// options are those of a load of the target.
func (t *target) options(rt config.Runtime) config.Options {
	return config.Options{
		Runtime: rt,
		Path:    t.Path,
		// Who names a file of containerd's means that it is there.
		PathOptional: !t.Told && (!t.given || t.Runtime == config.CRIO),
		Binary:       t.program,
	}
}

// hostPath makes an argument a path of the host: with --root it is one inside
// the root, else one of this machine.
func hostPath(root, name string) (string, error) {
	if path.IsAbs(name) {
		return path.Clean(name), nil
	}
	if root != "/" {
		return path.Join("/", name), nil
	}
	return filepath.Abs(name)
}
