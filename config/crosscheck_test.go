package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCrosscheck(t *testing.T) {
	d := dumpWith(t, "t-v3-crlf@2.0.14.toml")
	tests := map[string]struct {
		source           Source
		wants            []Want
		missing, unknown []Lack
	}{
		"nothing wanted": {source: d},
		"all there":      {source: d, wants: []Want{{"nvidia", "b"}, {"runc", "a"}}},
		"lacks are sorted and name each asker once": {
			source: d,
			wants:  []Want{{"nvidia-typo", "b"}, {"kata", "z"}, {"nvidia-typo", "a"}, {"nvidia-typo", "b"}, {"runc", "c"}},
			missing: []Lack{
				{Handler: "kata", By: []string{"z"}},
				{Handler: "nvidia-typo", By: []string{"a", "b"}, Nearest: "nvidia"},
			},
		},
		"what cannot be told is not missing": {
			source:  dumpWith(t, "t-v3-crlf@2.0.14.toml", "disabled_plugins = []", "disabled_plugins = ['io.containerd.grpc.v1.cri']"),
			wants:   []Want{{"kata", "z"}},
			unknown: []Lack{{Handler: "kata", By: []string{"z"}, Why: `dump.toml:6:21: the CRI plugin is disabled (disabled_plugins holds "io.containerd.grpc.v1.cri"), so containerd serves no handler at all: remove that entry and restart containerd`}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			missing, unknown := Crosscheck(tt.source, tt.wants)
			if diff := cmp.Diff(tt.missing, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.unknown, unknown); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	loaded := []string{"kata-clh", "kata-qemu", "nvidia", "nvidia-cdi", "runc", "runsc", strings.Repeat("\xff", 127) + "a"}
	for name, want := range map[string]string{
		"nvidia":                       "nvidia-cdi", // asked about a name that is there: the next best
		"nvidia-typo":                  "nvidia",
		"nvida":                        "nvidia",
		"nvdiia":                       "nvidia",
		"NVIDIA":                       "nvidia",
		"nvidia-cd":                    "nvidia-cdi",
		"nvidiacdi":                    "nvidia-cdi",
		"kata":                         "kata-clh",
		"kata-fc":                      "",
		strings.Repeat("\xff", 128):    "", // three bytes each in small letters
		"qemu":                         "kata-qemu",
		"rnsc":                         "runsc",
		"crun":                         "",
		"gvisor":                       "",
		"":                             "",
		strings.Repeat("nvidia", 1000): "",
	} {
		if got := Nearest(name, loaded); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", name, got, want)
		}
	}
	if got := Nearest("a", nil); got != "" {
		t.Errorf("Nearest of nothing = %q", got)
	}
}
