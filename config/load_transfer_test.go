package config

import (
	"fmt"
	"strings"
	"testing"
)

// Without the transfer service containerd serves no Pods since 2.1. The answers
// are those of containerd 2.2.9 and 2.4.2; that of 2.0.7 is by its source.
func TestTransferService(t *testing.T) {
	const native = "[plugins.\"io.containerd.cri.v1.images\"]\nsnapshotter = \"native\"\n"
	const unpack = "[[plugins.\"io.containerd.transfer.v1.local\".unpack_config]]\nplatform = \"linux/amd64\"\n"
	off := func(names ...string) string {
		return fmt.Sprintf("disabled_plugins = [\"%s\"]\n", strings.Join(names, `", "`))
	}
	const overlayfs, walking = "io.containerd.snapshotter.v1.overlayfs", "io.containerd.differ.v1.walking"
	tests := map[string]struct {
		text string
		want [3]DaemonState // of 2.0.7, 2.2.9 and 2.4.2
	}{
		"the default":                          {"", [3]DaemonState{Running, Running, Running}},
		"without the service":                  {off(transferPlugin), [3]DaemonState{Running, CRIOff, CRIOff}},
		"another snapshotter":                  {native, [3]DaemonState{Running, Running, Running}},
		"without the usual one":                {off(overlayfs) + native, [3]DaemonState{Running, CRIOff, CRIOff}},
		"and unpacking into another":           {off(overlayfs) + native + unpack + "snapshotter = \"native\"\n", [3]DaemonState{Running, Running, Running}},
		"unpacking nothing":                    {off(overlayfs) + native + "[plugins.\"io.containerd.transfer.v1.local\"]\nunpack_config = []\n", [3]DaemonState{Running, Running, Running}},
		"unpacking into one that is not there": {unpack + "snapshotter = \"nosuch\"\n", [3]DaemonState{Running, CRIOff, CRIOff}},
		"that is optional":                     {unpack + "snapshotter = \"nosuch\"\noptional = true\n", [3]DaemonState{Running, CRIOff, Running}},
		"without a differ":                     {off(walking), [3]DaemonState{Running, CRIOff, CRIOff}},
		"without a verifier of images":         {off(bindirVerifier), [3]DaemonState{Running, CRIOff, Running}},
	}
	for name, test := range tests {
		for i, version := range []string{"2.0.7", "2.2.9", "2.4.2"} {
			r, err := Load(hostileHost(map[string]string{main: "version = 3\n" + test.text}), Options{Runtime: mustRuntime(t, version), Path: main})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if r.Daemon.State != test.want[i] {
				t.Errorf("%s in %s: %s (%s), want %s", name, version, r.Daemon.State, r.Daemon.Reason, test.want[i])
			}
		}
	}
}
