package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What real builds of containerd tell of what they have loaded is what the loader makes
// of a file that says the same.
func TestSettingsOfStatusAreThoseOfFiles(t *testing.T) {
	const handlers = `
[plugins."P".containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"
  privileged_without_host_devices = true
  pod_annotations = ["nvidia.*"]
  options = {BinaryName = "/usr/bin/nvidia-container-runtime", SystemdCgroup = false}
[plugins."P".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  options = {BinaryName = "/run/tc", IoGid = 0, Root = ""}
`
	for _, version := range []string{"1.7.27", "2.0.14", "2.4.2"} {
		file, err := os.Open("testdata/status/" + version + ".restarted.json")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s, err := ReadStatus(file, version)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Load(hostileHost(map[string]string{main: "version = 2" + strings.ReplaceAll(handlers, "P", oldCRI)}), Options{Runtime: mustRuntime(t, version), Path: main})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"nvidia", "runc"} {
			loaded, ok := s.Settings[name]
			if diff := cmp.Diff(r.Daemon.CRI.Settings[name], loaded); diff != "" || !ok {
				t.Errorf("%s, %s: -files +status:\n%s", version, name, diff)
			}
		}
		if got := s.Settings["nvidia"]["pod_annotations"]; got != `["nvidia.*"]` {
			t.Errorf("%s: pod_annotations are %s", version, got)
		}
	}
}
