package config

import (
	"path"
	"strings"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// A Location is where some distribution has a runtime's configuration.
type Location struct {
	// Path is the main file.
	Path string
	// Runtime is Containerd or CRIO.
	Runtime string
	// Who has it there.
	Who string
	// Told says that the runtime is told the path when it is started, so that
	// it does not start without the file.
	Told bool
	// Bin is the folder of the distribution's own programs, first on its PATH.
	Bin string
	// Socket is where that runtime serves the CRI.
	Socket string
}

// Program is the executable of the runtime's daemon, "" when this host has
// none.
func (l Location) Program(host *hostfs.FS) string {
	dirs := []string{"/usr/bin", "/usr/local/bin", "/usr/sbin", "/opt/bin"}
	if l.Bin != "" {
		dirs = []string{l.Bin}
	}
	for _, dir := range dirs {
		if name := path.Join(dir, l.ProgramName()); host.Executable(name) == nil {
			return name
		}
	}
	return ""
}

// ProgramName is the name of that executable.
func (l Location) ProgramName() string {
	if l.Runtime == CRIO {
		return "crio"
	}
	return "containerd"
}

// LocationOf is the known place with that path, or else one that is told to
// the runtime when it is started. Runtime is "" when it is to be guessed.
func LocationOf(name, runtime string) (l Location, known bool) {
	for _, l := range Locations {
		if l.Path == name && (runtime == "" || runtime == l.Runtime) {
			return l, true
		}
	}
	if runtime == "" {
		runtime = Containerd
		if path.Base(name) == "crio.conf" || path.Base(path.Dir(name)) == "crio.conf.d" || strings.Contains(name, "/etc/crio/") {
			runtime = CRIO
		}
	}
	return Location{Path: name, Runtime: runtime, Told: true}, false
}

// Locations are the known places, the usual one first.
var Locations = []Location{
	{Path: DefaultConfigPath, Runtime: Containerd, Who: "containerd", Socket: "/run/containerd/containerd.sock"},
	// kOps starts containerd with this one.
	{Path: "/etc/containerd/config-kops.toml", Runtime: Containerd, Who: "containerd", Told: true, Socket: "/run/containerd/containerd.sock"},
	{Path: "/var/lib/rancher/k3s/agent/etc/containerd/config.toml", Runtime: Containerd, Bin: "/var/lib/rancher/k3s/data/current/bin", Who: "k3s", Told: true, Socket: "/run/k3s/containerd/containerd.sock"},
	{Path: "/var/lib/rancher/rke2/agent/etc/containerd/config.toml", Runtime: Containerd, Bin: "/var/lib/rancher/rke2/bin", Who: "RKE2", Told: true, Socket: "/run/k3s/containerd/containerd.sock"},
	{Path: "/var/snap/microk8s/current/args/containerd.toml", Runtime: Containerd, Bin: "/snap/microk8s/current/bin", Who: "MicroK8s", Told: true, Socket: "/var/snap/microk8s/common/run/containerd.sock"},
	{Path: "/etc/k0s/containerd.toml", Runtime: Containerd, Bin: "/var/lib/k0s/bin", Who: "k0s", Told: true, Socket: "/run/k0s/containerd.sock"},
	{Path: "/run/k0s/containerd-cri.toml", Runtime: Containerd, Bin: "/var/lib/k0s/bin", Who: "k0s", Told: true, Socket: "/run/k0s/containerd.sock"},
	{Path: DefaultCRIOPath, Runtime: CRIO, Who: "CRI-O", Socket: "/run/crio/crio.sock"},
}

// Locate returns the known places that this host has, for one runtime or, when
// name is empty, for both.
func Locate(host *hostfs.FS, name string) []Location {
	var found []Location
	for _, l := range Locations {
		if name != "" && l.Runtime != name {
			continue
		}
		if host.Exists(l.Path) || l.Runtime == CRIO && host.Exists(l.Path+".d") {
			found = append(found, l)
		}
	}
	return found
}

// binOf is the folder of the programs of the distribution that has its
// configuration at that path, "" for none.
func binOf(path string) string {
	for _, l := range Locations {
		if l.Path == path {
			return l.Bin
		}
	}
	return ""
}
