package cri

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

// An Endpoint is a CRI socket of a host.
type Endpoint struct {
	// Socket is its path, as the host itself has it.
	Socket string
	// Why says why it was taken.
	Why string
	// Others are sockets of other runtimes that are there too.
	Others []string
}

// String is the endpoint as the kubelet writes it.
func (e *Endpoint) String() string { return "unix://" + e.Socket }

// ParseEndpoint reads "unix:///run/crio/crio.sock" or an absolute path.
func ParseEndpoint(text string) (string, error) {
	socket := strings.TrimPrefix(text, "unix://")
	if !path.IsAbs(socket) {
		return "", fmt.Errorf("endpoint %q: want unix:///run/containerd/containerd.sock, or an absolute path", text)
	}
	return path.Clean(socket), nil
}

// At is the endpoint that somebody names.
func At(host *hostfs.FS, text string) (*Endpoint, error) {
	socket, err := ParseEndpoint(text)
	if err != nil {
		return nil, err
	}
	return &Endpoint{Socket: canonical(host, socket), Why: "as given"}, nil
}

// canonical is the known name of a socket that is written otherwise, as with
// /var/run, which is a link to /run.
func canonical(host *hostfs.FS, socket string) string {
	at, _, err := host.Resolve(socket)
	if err != nil {
		return socket
	}
	for _, name := range known() {
		if same, _, err := host.Resolve(name); err == nil && same == at {
			return name
		}
	}
	return socket
}

// Dialable is the path by which this process reaches a socket of the host whose
// root is that folder. It does not lead out of the folder.
func Dialable(host *hostfs.FS, root, socket string) (string, error) {
	if root == "/" {
		return socket, nil
	}
	at, _, err := host.Resolve(socket)
	if err != nil {
		return "", unreachable(socket, err)
	}
	return path.Join(root, at), nil
}

// Find finds the endpoint of the runtime that the host's kubelet uses: the
// kubelet's own word for it if there is any, else the known socket that is
// there. Of several, one of a distribution that brings its own runtime comes
// first: a containerd beside it serves Docker. taken is the socket that was found
// before, if any, and stays that: when its runtime is down for a moment, another's
// answer would be wrong.
func Find(host *hostfs.FS, taken string) (*Endpoint, error) {
	found := present(host)
	if socket, file := kubeletEndpoint(host); socket != "" {
		socket = canonical(host, socket)
		return &Endpoint{Socket: socket, Why: file + " names it", Others: others(found, socket)}, nil
	}
	if taken != "" {
		return &Endpoint{Socket: taken, Why: "it was asked before", Others: others(found, taken)}, nil
	}
	if len(found) == 0 {
		return nil, &Error{Reason: Unreachable, Socket: strings.Join(known(), ", "), Err: errNoneFound}
	}
	e := &Endpoint{Socket: found[0].Socket, Why: "it is the CRI socket of " + found[0].Who}
	if e.Others = others(found, e.Socket); len(e.Others) == 0 {
		e.Why = "it is the only known CRI socket there"
	}
	return e, nil
}

var errNoneFound = fmt.Errorf("none of them is there (%w)", fs.ErrNotExist)

// present are the known locations whose socket is there.
func present(host *hostfs.FS) []config.Location {
	var own, plain []config.Location
	for _, l := range config.Locations {
		_, info, err := host.Resolve(l.Socket)
		switch {
		case err != nil || info.Mode()&fs.ModeSocket == 0:
		case l.Bin != "":
			own = append(own, l)
		default:
			plain = append(plain, l)
		}
	}
	return append(own, plain...)
}

func known() []string {
	var sockets []string
	for _, l := range config.Locations {
		if !slices.Contains(sockets, l.Socket) {
			sockets = append(sockets, l.Socket)
		}
	}
	return sockets
}

func others(found []config.Location, taken string) []string {
	var sockets []string
	for _, l := range found {
		if l.Socket != taken && !slices.Contains(sockets, l.Socket) {
			sockets = append(sockets, l.Socket)
		}
	}
	return sockets
}

// Where kubeadm puts the kubelet's flags and configuration. A flag goes over
// the same field of the file.
const (
	kubeletFlags  = "/var/lib/kubelet/kubeadm-flags.env"
	kubeletConfig = "/var/lib/kubelet/config.yaml"
)

var endpointFlag = regexp.MustCompile(`--container-runtime-endpoint[= ]"?([^\s"']+)`)

// kubeletEndpoint is the socket that the kubelet is told, and the file that
// tells it; "" when none does, which may mean that its files can't be read.
func kubeletEndpoint(host *hostfs.FS) (socket, file string) {
	if data, err := host.ReadFile(kubeletFlags); err == nil {
		if m := endpointFlag.FindSubmatch(data); m != nil {
			if socket, err := ParseEndpoint(string(m[1])); err == nil {
				return socket, kubeletFlags
			}
		}
	}
	data, err := host.ReadFile(kubeletConfig)
	if err != nil {
		return "", ""
	}
	var c struct {
		Endpoint string `json:"containerRuntimeEndpoint"`
	}
	if yaml.Unmarshal(data, &c) != nil {
		return "", ""
	}
	if socket, err = ParseEndpoint(c.Endpoint); err != nil {
		return "", ""
	}
	return socket, kubeletConfig
}
