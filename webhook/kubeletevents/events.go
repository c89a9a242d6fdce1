package kubeletevents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config"
)

// A Cause is what an Event says to be the matter.
type Cause string

// The causes.
const (
	// NotLoaded: the runtime has not loaded the handler.
	NotLoaded Cause = "NotLoaded"
	// ShimMissing: the handler is loaded, and its shim is not there.
	ShimMissing Cause = "ShimMissing"
	// BinaryMissing: the shim is there, and the OCI runtime behind it is not.
	BinaryMissing Cause = "BinaryMissing"
	// TypeMissing: the handler is loaded without a runtime_type or runtime_path.
	TypeMissing Cause = "TypeMissing"
	// CgroupDriver: the handler's option SystemdCgroup is not what the kubelet does.
	CgroupDriver Cause = "CgroupDriver"
	// OptionsWrong: the runtime cannot read the handler's options.
	OptionsWrong Cause = "OptionsWrong"
	// NoHandlers: the runtime knows no handlers but its own.
	NoHandlers Cause = "NoHandlers"
	// ClassWithAnnotation: a class and the untrusted-workload annotation.
	ClassWithAnnotation Cause = "ClassWithAnnotation"
	// RuntimeDown: the runtime does not answer, or serves no Pods.
	RuntimeDown Cause = "RuntimeDown"
	// ClassNotFound: there is no such RuntimeClass.
	ClassNotFound Cause = "ClassNotFound"
	// ClassConflict: the Pod contradicts its RuntimeClass.
	ClassConflict Cause = "ClassConflict"
	// Denied: runtimegate's webhook rejected the Pod.
	Denied Cause = "Denied"
	// FeatureMissing: the handler lacks something that the Pod needs.
	FeatureMissing Cause = "FeatureMissing"
	// Unschedulable: no node may run the Pod, by selector, taints or size.
	Unschedulable Cause = "Unschedulable"
	// Elsewhere: the sandbox fails for what has nothing to do with the handler.
	Elsewhere Cause = "Elsewhere"
)

// A Meaning is what an Event says of a handler.
type Meaning struct {
	Cause Cause
	// By is the component whose wording it is.
	By string
	// Handler and Class are the names in it, Program the path or name of what is
	// missing, and Socket the one that nobody serves; empty where it has none.
	Handler, Class, Program, Socket string
	// Option is the one that cannot be read, and Type what it has to be.
	Option, Type string
}

// option names the option that cannot be read, if the message does.
func (m *Meaning) option() string {
	if m.Option == "" {
		return ""
	}
	return fmt.Sprintf(": %s has to be of type %s", m.Option, m.Type)
}

// Of reads an Event; nil if it says nothing about a handler or a sandbox. endpoint
// is the CRI socket of its node, beside the usual ones; empty if it is not known.
func Of(reason, message, endpoint string) *Meaning {
	for i := range wordings {
		w := &wordings[i]
		if len(w.reasons) > 0 && !strings.Contains(" "+w.reasons+" ", " "+reason+" ") {
			continue
		}
		found := w.text.FindStringSubmatch(message)
		if found == nil {
			continue
		}
		m := &Meaning{Cause: w.cause, By: w.by}
		for i, name := range w.text.SubexpNames() {
			value := strings.Trim(found[i], `"\`)
			switch name {
			case "handler":
				m.Handler = value
			case "class":
				m.Class = value
			case "program":
				m.Program = value
			case "socket":
				m.Socket = value
			case "option":
				m.Option = value
			case "type":
				m.Type = value
			}
		}
		if m.Cause == RuntimeDown && m.Socket != "" && !isCRI(m.Socket, endpoint) {
			m.Cause = Elsewhere
		}
		return m
	}
	return nil
}

// criDockerd are the sockets of cri-dockerd, and of the dockershim before it.
var criDockerd = []string{"/run/cri-dockerd.sock", "/run/dockershim.sock"}

// isCRI says whether a socket is one on which a runtime serves the CRI. Others have
// the name of a runtime in their paths too: those of snapshotters, shims, plugins.
func isCRI(socket, endpoint string) bool {
	at := func(path string) string {
		return strings.TrimPrefix(strings.TrimPrefix(path, "unix://"), "/var") // /var/run is /run
	}
	socket = at(socket)
	return socket == at(endpoint) || slices.Contains(criDockerd, socket) ||
		slices.ContainsFunc(config.Locations, func(l config.Location) bool { return at(l.Socket) == socket })
}

// String says it in one sentence for people.
func (m *Meaning) String() string {
	switch m.Cause {
	case NotLoaded:
		return fmt.Sprintf("the running runtime has not loaded handler %q, whatever its files say", m.Handler)
	case ShimMissing:
		return fmt.Sprintf("the handler is loaded, and its shim %s is not there or cannot be run", m.Program)
	case BinaryMissing:
		return fmt.Sprintf("the shim runs, and the OCI runtime %s that it calls is not there or cannot be run", m.Program)
	case TypeMissing:
		return "the handler is loaded without saying what to run: its runtime_type or runtime_path is empty"
	case CgroupDriver:
		return "the handler's option SystemdCgroup is true, and the kubelet of the node does not use systemd as its cgroup driver"
	case OptionsWrong:
		return "the handler is loaded, and the runtime cannot read its options" + m.option()
	case NoHandlers:
		return fmt.Sprintf("this runtime knows no handlers: no configuration makes it run %q", m.Handler)
	case ClassWithAnnotation:
		return "containerd takes either a RuntimeClass or the untrusted-workload annotation, not both"
	case RuntimeDown:
		return "the runtime of the node does not answer, or serves no Pods: no Pod can start there"
	case ClassNotFound:
		return fmt.Sprintf("there is no RuntimeClass %q", m.Class)
	case ClassConflict:
		return "what the Pod says contradicts its RuntimeClass"
	case Denied:
		return "runtimegate denied the Pod"
	case FeatureMissing:
		return "the handler does not offer what the Pod needs of it"
	case Unschedulable:
		return "no node may run the Pod now: its selector, the nodes' taints or its size keep it off"
	}
	if m.Socket != "" {
		return fmt.Sprintf("the sandbox fails for another reason than its handler: nobody serves the socket %s", m.Socket)
	}
	return "the sandbox fails for another reason than its handler"
}
