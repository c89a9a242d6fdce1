package cri

import (
	"strings"
	"testing"
)

func TestConfigOf(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/containerd":                               "",
		"containerd --config /etc/containerd/own.toml":      "/etc/containerd/own.toml",
		"containerd --config=/etc/containerd/own.toml":      "/etc/containerd/own.toml",
		"containerd -c /var/lib/k3s/config.toml -a /run/s":  "/var/lib/k3s/config.toml",
		"containerd --log-level info -c=own.toml":           "/work/own.toml",
		"crio --config /etc/crio/a.conf --config /b.conf":   "/b.conf", // the flag's last value counts
		"containerd --config":                               "",
		"containerd --root /data --config.d /etc/elsewhere": "",
	} {
		if got := configOf(strings.Fields(line), "/work"); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
	if got := configOf([]string{"containerd", "-c", "own.toml"}, ""); got != "" {
		t.Errorf("relative to an unknown folder: got %q", got)
	}
}

func TestBelow(t *testing.T) {
	for _, tt := range [][3]string{
		{"/", "/var/lib", "/var/lib"}, {"/host", "/host/var/lib", "/var/lib"}, {"/host", "/host", "/"}, {"/host", "/hosted", "/hosted"}, {"/host", "/var", "/var"}, {"/host", "", ""},
	} {
		if got := below(tt[0], tt[1]); got != tt[2] {
			t.Errorf("below(%q, %q) is %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}
