package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

// An installation is a way in which a container runtime is put on a node.
type installation struct {
	// name is what people call it.
	name    string
	runtime string
	// configs are the main files its daemon is started with, the likely first.
	configs []string
	// dropIns is a folder that makes up a configuration without a main file.
	dropIns string
	// programs are where the daemon's executable may be.
	programs []string
	// extraPath are folders that its daemon has in PATH before the usual ones.
	extraPath []string
}

// installations, those first whose files prove that the node is theirs: a
// distribution that brings its own containerd reads nothing of
// /etc/containerd, though installers often leave files there.
var installations = []installation{
	{
		name: "k3s", runtime: config.Containerd,
		configs:   []string{"/var/lib/rancher/k3s/agent/etc/containerd/config.toml"},
		programs:  []string{"/var/lib/rancher/k3s/data/current/bin/containerd"},
		extraPath: []string{"/var/lib/rancher/k3s/data/current/bin", "/var/lib/rancher/k3s/data/cni"},
	},
	{
		name: "RKE2", runtime: config.Containerd,
		configs:   []string{"/var/lib/rancher/rke2/agent/etc/containerd/config.toml"},
		programs:  []string{"/var/lib/rancher/rke2/bin/containerd"},
		extraPath: []string{"/var/lib/rancher/rke2/bin"},
	},
	{
		name: "MicroK8s", runtime: config.Containerd,
		configs:  []string{"/var/snap/microk8s/current/args/containerd.toml"},
		programs: []string{"/snap/microk8s/current/bin/containerd"},
		extraPath: []string{
			"/snap/microk8s/current/usr/bin", "/snap/microk8s/current/bin",
			"/snap/microk8s/current/usr/sbin", "/snap/microk8s/current/sbin",
		},
	},
	{
		name: "k0s", runtime: config.Containerd,
		configs:   []string{"/etc/k0s/containerd.toml", "/run/k0s/containerd.toml", "/run/k0s/containerd-cri.toml"},
		programs:  []string{"/var/lib/k0s/bin/containerd"},
		extraPath: []string{"/var/lib/k0s/bin"},
	},
	{
		name: "containerd", runtime: config.Containerd,
		configs:  []string{config.DefaultConfigPath},
		programs: []string{"/usr/bin/containerd", "/usr/local/bin/containerd", "/usr/sbin/containerd", "/opt/bin/containerd"},
	},
	{
		name: "CRI-O", runtime: config.CRIO,
		configs:  []string{config.DefaultCRIOPath},
		dropIns:  config.DefaultCRIOPath + ".d",
		programs: []string{"/usr/bin/crio", "/usr/local/bin/crio"},
	},
}

// A target is the configuration that explain is about.
type target struct {
	installation
	// path of the main file.
	path string
	// given is set when the command line named the path.
	given bool
	// known is set when path is where the installation's daemon looks.
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
		return fmt.Sprintf("%s's configuration, as given", t.name)
	case t.given:
		return "as given"
	case t.path == config.DefaultConfigPath:
		return "containerd's default path"
	}
	return fmt.Sprintf("found: %s's configuration", t.name)
}

// findTarget decides what to explain: the path given, else what is found.
// runtime is "" unless the command line says which is meant.
func findTarget(host *hostfs.FS, given, runtime string) (*target, error) {
	if given != "" {
		t := targetAt(given, runtime)
		t.program = t.findProgram(host)
		return t, nil
	}
	found := presentTargets(host, runtime)
	if len(found) == 0 {
		// No file is a configuration too, but only where there is a containerd.
		t := targetAt(config.DefaultConfigPath, "")
		if t.program = t.findProgram(host); t.program == "" || runtime == config.CRIO {
			return nil, errors.New("no configuration found: looked at " + strings.Join(knownConfigs(runtime), ", ") + "; name the file")
		}
		t.given = false
		return t, nil
	}
	t := found[0]
	if len(found) > 1 && t.name == "containerd" && host.Exists("/run/crio/crio.sock") && !host.Exists("/run/containerd/containerd.sock") {
		// Both are installed, and CRI-O is the one that runs.
		t = found[1]
	}
	for _, other := range found {
		if other != t {
			t.others = append(t.others, other.path)
		}
	}
	t.program = t.findProgram(host)
	return t, nil
}

// presentTargets are the first main file of each installation that has one.
func presentTargets(host *hostfs.FS, runtime string) []*target {
	var found []*target
	for _, i := range installations {
		if runtime != "" && runtime != i.runtime {
			continue
		}
		at := slices.IndexFunc(i.configs, host.Exists)
		if at < 0 && i.dropIns != "" && host.Exists(i.dropIns) {
			at = 0
		}
		if at >= 0 {
			found = append(found, &target{installation: i, path: i.configs[at], known: true})
		}
	}
	return found
}

// targetAt is the target of a path that the command line names.
func targetAt(name, runtime string) *target {
	for _, i := range installations {
		if slices.Contains(i.configs, name) && (runtime == "" || runtime == i.runtime) {
			return &target{installation: i, path: name, given: true, known: true}
		}
	}
	if runtime == "" {
		runtime = config.Containerd
		if path.Base(name) == "crio.conf" || strings.HasPrefix(name, "/etc/crio/") {
			runtime = config.CRIO
		}
	}
	t := &target{path: name, given: true}
	for _, i := range installations {
		if i.runtime == runtime && (i.name == "containerd" || i.name == "CRI-O") {
			t.installation = i
		}
	}
	return t
}

func (i *installation) findProgram(host *hostfs.FS) string {
	for _, p := range i.programs {
		if host.Executable(p) == nil {
			return p
		}
	}
	return ""
}

func knownConfigs(runtime string) []string {
	var all []string
	for _, i := range installations {
		if runtime == "" || runtime == i.runtime {
			all = append(all, i.configs...)
		}
	}
	return all
}

// options are those of a load of the target.
func (t *target) options(rt config.Runtime) config.Options {
	return config.Options{
		Runtime:      rt,
		Path:         t.path,
		PathOptional: t.path == config.DefaultConfigPath || t.path == config.DefaultCRIOPath,
		SearchPath:   strings.Join(append(slices.Clone(t.extraPath), config.DefaultSearchPath), ":"),
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
