package remedy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A Site is nodes that are alike, and the handler that is to be mended there.
type Site struct {
	Nodes inventory.Nodes
	// Runtime is what serves the CRI there.
	Runtime v1alpha1.Runtime
	// Handler is the one asked for; the default handler's name if none is.
	Handler string
	// Missing are the programs of the handler that are not there.
	Missing []v1alpha1.Program
}

// first is the node that commands name.
func (s *Site) first() string {
	if len(s.Nodes.Sample) == 0 {
		return "NODE"
	}
	return s.Nodes.Sample[0]
}

func (s *Site) on() string {
	if s.Nodes.Count == 0 {
		return "NODE"
	}
	return s.Nodes.String()
}

// runtime is the name of the runtime in a sentence.
func (s *Site) runtime() string {
	if s.Runtime.Name == "" {
		return "the runtime"
	}
	return s.Runtime.Name
}

// unit is the systemd unit, or the like, whose restart starts the runtime anew,
// by the socket that was asked.
func (s *Site) unit() string {
	switch at := s.Runtime.Endpoint; {
	case s.Runtime.Name == config.CRIO || strings.Contains(at, "/crio/"):
		return "crio"
	case strings.Contains(at, "/run/k3s/"):
		return "k3s-agent" // RKE2 has its socket there too
	case strings.Contains(at, "/run/k0s/"):
		return "k0sworker"
	case s.Runtime.Name == "docker" || strings.Contains(at, "docker"):
		return "docker"
	}
	return "containerd"
}

func (s *Site) restart() []string {
	switch unit := s.unit(); {
	case strings.Contains(s.Runtime.Endpoint, "/snap/microk8s/"):
		return []string{"snap restart microk8s.daemon-containerd"}
	case unit == "k3s-agent":
		return []string{"systemctl restart k3s-agent", "systemctl restart rke2-agent   # RKE2; k3s and rke2-server on servers"}
	default:
		return []string{"systemctl restart " + unit}
	}
}

// An installer is what writes a handler's file and puts its programs there.
type installer struct {
	handlers string // prefixes, separated by spaces
	name     string
	pods     string // how its Pods are found
}

// The installers that are run as DaemonSets, by the handlers that they make.
var installers = []installer{
	{"nvidia", "the DaemonSet of the NVIDIA toolkit", "nvidia-container-toolkit"},
	{"kata", "the DaemonSet of kata-deploy", "kata-deploy"},
	{"spin wasmtime slight lunatic wws wasmedge", "the installer of the Wasm shims", "-e kwasm -e runtime-class-manager -e spin"},
	{"gvisor runsc", "the installer of gVisor", "gvisor"},
}

// installer is that of the site's handler; one without a name if none is known.
func (s *Site) installer() installer {
	for _, i := range installers {
		if slices.ContainsFunc(strings.Fields(i.handlers), func(prefix string) bool { return strings.HasPrefix(s.Handler, prefix) }) {
			return i
		}
	}
	return installer{}
}

// see is the step that looks at what the running runtime has.
func (s *Site) see() Step {
	require := ""
	if s.Handler != "" {
		require = " --require " + s.Handler
	}
	return Step{Phase: Look, On: s.first(), Do: "See what the running runtime has loaded; its files and \"containerd config dump\" do not tell.",
		Run: []string{"runtimegate report --once -o yaml", "runtimegate crosscheck --cri" + require}}
}

// bring is the step that has the handler's file written again.
func (s *Site) bring() Step {
	i := s.installer()
	if i.name == "" {
		return Step{Phase: Mend, On: s.on(), Do: fmt.Sprintf("Have the file that defines handler %q written: by what installed it, or by hand.", s.Handler),
			Run: []string{"runtimegate explain   # which files are read, and what they define"}}
	}
	return Step{Phase: Mend, Do: fmt.Sprintf("Bring %s back on %s, so that it writes its file; when its Pod ends it takes the file away. Look for a selector, a taint or an image that keeps it off.", i.name, s.on()),
		Run: []string{"kubectl get daemonsets,pods -A -o wide | grep " + i.pods}}
}

// next is the step that waits for the files to be right.
func (s *Site) next() Step {
	return Step{Phase: Check, Do: fmt.Sprintf("Wait until the next start would load handler %q on %s: the list has it, within a minute.", s.Handler, s.on()),
		Run: []string{fmt.Sprintf("kubectl get nruntime %s -o jsonpath='{.spec.next.handlers}'", s.first())}}
}

// start is the step that starts the runtime anew.
func (s *Site) start() Step {
	return Step{Phase: Restart, On: s.on(), Do: fmt.Sprintf("Only now restart %s, on one node first. Containers keep running.", s.runtime()), Run: s.restart()}
}

// drain is the step that empties a node before.
func (s *Site) drain() Step {
	return Step{Phase: Drain, Do: fmt.Sprintf("Drain %s, so that no Pod meets a runtime that is just starting.", s.on()),
		Run: []string{fmt.Sprintf("kubectl drain %s --ignore-daemonsets --delete-emptydir-data", s.first())}}
}

// again is the step that looks whether it helped.
func (s *Site) again(what string) Step {
	shows := "{.spec.handlers[*].name}"
	if strings.Contains(what, "finding") {
		shows = "{.spec.findings[*].code}"
	}
	return Step{Phase: Again, Do: fmt.Sprintf("Look again at %s: %s", s.on(), what),
		Run: []string{fmt.Sprintf("kubectl get nruntime %s -o jsonpath='%s'", s.first(), shows)}}
}

// loaded is what again looks for, mostly.
func (s *Site) loaded() Step {
	return s.again(fmt.Sprintf("handler %q is among those that are loaded.", s.Handler))
}
