package remedy

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	// Origin is the place that gives the runtime the handler, Default whether it is the
	// node's default one.
	Origin  string
	Default bool
	// Loaded: the handler is loaded now.
	Loaded bool
	// Missing are the programs of the handler that are not there.
	Missing []v1alpha1.Program
	// Unlooked: nobody looked whether the programs of its handlers are there.
	Unlooked bool
	// Down: the runtime does not answer. Answered is when it last did; zero if that
	// is not known.
	Down     bool
	Answered time.Time
	// NotReady is what the kubelet, or whoever misses it, says of a node that is not
	// Ready; empty if it is.
	NotReady string
	// Settled is when a node that is new no longer counts as such; zero for others.
	Settled time.Time
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
	noShim   bool   // its handlers use containerd's own shim
}

// The installers that are run as DaemonSets, by the handlers that they make.
var installers = []installer{
	{"nvidia", "the DaemonSet of the NVIDIA toolkit", "nvidia-container-toolkit", true},
	{"kata", "the DaemonSet of kata-deploy", "kata-deploy", false},
	{"spin wasmtime slight lunatic wws wasmedge", "the installer of the Wasm shims", "-e kwasm -e runtime-class-manager -e spin", false},
	{"gvisor runsc", "the installer of gVisor", "gvisor", false},
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
	if s.Down {
		return Step{}
	}
	require := ""
	if s.Handler != "" {
		require = " --require " + s.Handler
	}
	return joined(Look, s.first(), joint{nodes: s.on(), topic: "loaded", begin: "See what the running runtime has loaded; its files and \"containerd config dump\" do not tell."},
		"runtimegate report --once -o yaml", "runtimegate crosscheck --cri"+require)
}

// bring is the step that has the handler's file written again.
func (s *Site) bring() Step {
	i := s.installer()
	if i.name == "" {
		return Step{Phase: Mend, On: s.on(), Do: fmt.Sprintf("Have the file that defines handler %q written: by what installed it, or by hand.", s.Handler),
			Run: []string{"runtimegate explain   # which files are read, and what they define"}}
	}
	return joined(Mend, "", joint{nodes: s.on(), topic: i.name, rank: 1,
		begin: fmt.Sprintf("If %s writes the file of ", i.name), between: " and ", says: []string{fmt.Sprintf("handler %q", s.Handler)},
		end: fmt.Sprintf(" on %s, bring it back there: when its Pod ends it takes the file away. Look for a selector, a taint or an image that keeps it off. Else write the file again.", s.on())},
		"kubectl get daemonsets,pods -A -o wide | grep "+i.pods)
}

// keep has the handler's installer run, if one is known.
func (s *Site) keep() Step {
	i := s.installer()
	if i.name == "" {
		return Step{}
	}
	return joined(Mend, "", joint{nodes: s.on(), topic: i.name,
		begin: fmt.Sprintf("If %s writes the file on %s, see that it runs there: the file is gone when it ends, and a restart would load nothing.", i.name, s.on())},
		"kubectl get daemonsets,pods -A -o wide | grep "+i.pods)
}

// next is the step that waits for the files to be right. A reporter whose runtime
// does not answer tells nothing of them.
func (s *Site) next() Step {
	if s.Down {
		return s.explain()
	}
	return joined(Check, "", joint{nodes: s.on(), topic: "next", begin: "Wait until the next start would load ", between: " and ", says: []string{fmt.Sprintf("handler %q", s.Handler)},
		end: fmt.Sprintf(" on %s: the list has it, within a minute.", s.on())},
		fmt.Sprintf("kubectl get nruntime %s -o jsonpath='{.spec.next.handlers}'", s.first()))
}

// explain is the step that checks files before anything starts with them.
func (s *Site) explain() Step {
	j := joint{nodes: s.on(), topic: "explain", begin: "Check the files before anything starts with them: what was mended is no finding any more."}
	if s.Down {
		j.begin = fmt.Sprintf("Check the files before %s is started anew: what was mended is no finding any more, and it would come up with all its handlers.", s.runtime())
	}
	return joined(Check, s.first(), j, "runtimegate explain")
}

// start is the step that starts the runtime anew.
func (s *Site) start() Step {
	if s.Down {
		return joined(Restart, s.on(), joint{nodes: s.on(), topic: "restart", rank: 2, begin: fmt.Sprintf("Only now start %s anew.", s.runtime())}, s.restart()...)
	}
	return joined(Restart, s.on(), joint{nodes: s.on(), topic: "restart", rank: 1, begin: fmt.Sprintf("Only now restart %s, on one node first. Containers keep running.", s.runtime())}, s.restart()...)
}

// drain is the step that empties a node before. A kubelet ends no Pod whose runtime
// does not answer.
func (s *Site) drain() Step {
	if s.Down {
		return Step{}
	}
	return Step{Phase: Drain, closes: s.Nodes, Do: fmt.Sprintf("Drain %s, so that no Pod meets a runtime that is just starting. It stops at Pods that nothing makes anew; --force removes them.", s.on()),
		Run: []string{fmt.Sprintf("kubectl drain %s --ignore-daemonsets --delete-emptydir-data", s.first())}}
}

// cordon is the step that keeps Pods off a node whose default handler starts none.
func (s *Site) cordon() Step {
	return Step{Phase: Hold, Do: fmt.Sprintf("Keep Pods off %s, and don't drain: what runs keeps running, and no Pod without a RuntimeClass can start there.", s.on()),
		Run: []string{"kubectl cordon " + s.first()}, undrained: true}
}

// uncordon is the step that lets Pods in on a node again.
func (s *Site) uncordon() Step {
	return joined(Admit, "", joint{nodes: s.on(), topic: "uncordon", begin: fmt.Sprintf("Let Pods in on %s again.", s.on())}, "kubectl uncordon "+s.first())
}

// ForCordon returns what to do about nodes that are cordoned.
func ForCordon(s Site) []Step { return []Step{s.uncordon()} }

// again is the step that looks whether it helped, and says whether a restart was
// needed.
func (s *Site) again(what string, n need) Step {
	shows := "{.spec.handlers[*].name}"
	if strings.Contains(what, "finding") {
		shows = "{.spec.findings[*].code}"
	}
	return joined(Again, "", joint{nodes: s.on(), topic: "again", begin: fmt.Sprintf("Look again at %s: ", s.on()), between: "; ", says: []string{what}, end: ".", need: n},
		fmt.Sprintf("kubectl get nruntime %s -o jsonpath='%s'", s.first(), shows))
}

// gone is what again looks for where files are mended.
const gone = "the finding is gone"

// loaded is what again looks for, mostly.
func (s *Site) loaded() Step {
	return s.again(fmt.Sprintf("handler %q is among those that are loaded", s.Handler), notTold)
}
