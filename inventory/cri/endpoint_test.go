package cri

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

const (
	containerd = "/run/containerd/containerd.sock"
	k3s        = "/run/k3s/containerd/containerd.sock"
	crio       = "/run/crio/crio.sock"
)

// hostWith is a host with these sockets, and these files.
func hostWith(sockets []string, files map[string]string) *hostfs.FS {
	m := fstest.MapFS{"etc": {Mode: 0o755 | fs.ModeDir}}
	for _, s := range sockets {
		m[s[1:]] = &fstest.MapFile{Mode: 0o660 | fs.ModeSocket}
	}
	for name, content := range files {
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			m[name[1:]] = &fstest.MapFile{Mode: 0o777 | fs.ModeSymlink, Data: []byte(target)}
			continue
		}
		m[name[1:]] = &fstest.MapFile{Mode: 0o644, Data: []byte(content)}
	}
	return hostfs.New(m)
}

func TestFind(t *testing.T) {
	for name, tt := range map[string]struct {
		sockets []string
		files   map[string]string
		taken   string
		want    *Endpoint
	}{
		"the one that was asked before, which is down": {
			sockets: []string{containerd},
			taken:   k3s,
			want:    &Endpoint{Socket: k3s, Why: "it was asked before", Others: []string{containerd}},
		},
		"the kubelet is told another than was asked before": {
			sockets: []string{containerd, k3s},
			files:   map[string]string{kubeletConfig: "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n"},
			taken:   k3s,
			want:    &Endpoint{Socket: containerd, Why: kubeletConfig + " names it", Others: []string{k3s}},
		},
		"the only one": {
			sockets: []string{crio},
			want:    &Endpoint{Socket: crio, Why: "it is the only known CRI socket there"},
		},
		"a distribution's own comes before Docker's containerd": {
			sockets: []string{containerd, k3s},
			want:    &Endpoint{Socket: k3s, Why: "it is the CRI socket of k3s", Others: []string{containerd}},
		},
		"the kubelet says": {
			sockets: []string{containerd, crio},
			files:   map[string]string{kubeletConfig: "kind: KubeletConfiguration\ncontainerRuntimeEndpoint: unix:///run/crio/crio.sock\n"},
			want:    &Endpoint{Socket: crio, Why: kubeletConfig + " names it", Others: []string{containerd}},
		},
		"the kubelet says so even if it is down: another runtime's answer would be wrong": {
			sockets: []string{containerd},
			files:   map[string]string{kubeletConfig: "containerRuntimeEndpoint: unix:///run/crio/crio.sock\n"},
			want:    &Endpoint{Socket: crio, Why: kubeletConfig + " names it", Others: []string{containerd}},
		},
		"the kubelet's flag goes over its file": {
			files: map[string]string{
				kubeletConfig: "containerRuntimeEndpoint: unix:///run/crio/crio.sock\n",
				kubeletFlags:  `KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///opt/c.sock --pod-infra-container-image=p"` + "\n",
			},
			want: &Endpoint{Socket: "/opt/c.sock", Why: kubeletFlags + " names it"},
		},
		"/var/run is /run": {
			sockets: []string{containerd},
			files: map[string]string{
				"/var/run":    "-> ../run",
				kubeletConfig: "containerRuntimeEndpoint: unix:///var/run/containerd/containerd.sock\n",
			},
			want: &Endpoint{Socket: containerd, Why: kubeletConfig + " names it"},
		},
		"a kubelet that says nothing": {
			sockets: []string{containerd},
			files:   map[string]string{kubeletConfig: "kind: KubeletConfiguration\n", kubeletFlags: `KUBELET_KUBEADM_ARGS=""` + "\n"},
			want:    &Endpoint{Socket: containerd, Why: "it is the only known CRI socket there"},
		},
		"a kubelet whose file is broken": {
			sockets: []string{containerd},
			files:   map[string]string{kubeletConfig: "{"},
			want:    &Endpoint{Socket: containerd, Why: "it is the only known CRI socket there"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Find(hostWith(tt.sockets, tt.files), tt.taken)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindNothing(t *testing.T) {
	_, err := Find(hostWith(nil, map[string]string{containerd: "a file"}), "")
	if ReasonOf(err) != Unreachable || !strings.Contains(err.Error(), containerd) || !strings.Contains(err.Error(), crio) {
		t.Errorf("error %v", err)
	}
}

func TestParseEndpoint(t *testing.T) {
	for text, want := range map[string]string{
		"unix:///run/a.sock": "/run/a.sock", "/run/a.sock": "/run/a.sock", "unix:///run//b/../a.sock": "/run/a.sock",
		"": "", "a.sock": "", "unix://a.sock": "", "tcp://localhost:1": "", "npipe:////./pipe/containerd": "",
	} {
		got, err := ParseEndpoint(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, error %v", text, got, err)
		}
	}
}
