package config

import (
	"strings"
	"testing"
)

// What stops the daemon is told with its place, whichever file has it.
func TestWhatStopsTheDaemonHasItsPlace(t *testing.T) {
	for name, test := range map[string]struct {
		version string
		files   map[string]string
		want    string // the code and place, and what else the finding has
	}{
		"a number for a type":                    {"2.4.2", map[string]string{main: "version = 3\nimports = [\"conf.d/*.toml\"]\n", drop: "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]\nruntime_type = 2\n"}, `Error DaemonWillNotStart /etc/containerd/conf.d/99-nvidia.toml:3...; it is runtime_type of handler "nvidia"; `},
		"a number for a type, in an old section": {"2.2.9", map[string]string{main: "version = 2\nimports = [\"conf.d/*.toml\"]\n", drop: "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia]\nruntime_type = 2\n"}, `Error DaemonWillNotStart /etc/containerd/conf.d/99-nvidia.toml:3...; it is runtime_type of handler "nvidia"; `},
		"a number for a type, in 1.7":            {"1.7.27", map[string]string{main: "version = 2\nimports = [\"conf.d/*.toml\"]\n", drop: "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia]\nruntime_type = 2\n"}, `Error DaemonWillNotStart /etc/containerd/conf.d/99-nvidia.toml:3...; it is runtime_type of handler "nvidia"; `},
		"a version that is too high":             {"2.4.2", map[string]string{main: "version = 3\nimports = [\"conf.d/*.toml\"]\n", drop: "\nversion = 5\n"}, `Error DaemonWillNotStart /etc/containerd/conf.d/99-nvidia.toml:2...got ` + "`" + `5` + "`" + ``},
		"a version that is too high, in 1.7":     {"1.7.27", map[string]string{main: "version = 2\nimports = [\"conf.d/*.toml\"]\n", drop: "\nversion = 5\n"}, `Error DaemonWillNotStart /etc/containerd/conf.d/99-nvidia.toml:2...version ` + "`" + `5` + "`" + ``},
		"a plugin that can't be disabled":        {"2.4.2", map[string]string{main: "version = 3\nimports = [\"conf.d/*.toml\"]\n", drop: "\n\ndisabled_plugins = [\"cri\"]\n"}, `Error CRIDisabled /etc/containerd/conf.d/99-nvidia.toml:3...`},
		"a base spec that is not there":          {"2.4.2", map[string]string{main: "version = 3\nimports = [\"conf.d/*.toml\"]\n", drop: "version = 3\n" + nv2 + "base_runtime_spec = \"/none.json\"\n"}, `Error CRIDisabled /etc/containerd/conf.d/99-nvidia.toml:4...handler "nvidia"`},
		"a byte order mark":                      {"2.4.2", map[string]string{main: "\xef\xbb\xbfversion = 3\n"}, `Error DaemonWillNotStart /etc/containerd/config.toml:1...; it begins with a byte order mark: save it as UTF-8 without one; `},
		"UTF-16":                                 {"1.7.27", map[string]string{main: "\xff\xfev\x00"}, `Error DaemonWillNotStart /etc/containerd/config.toml:1...; it is UTF-16: save it as UTF-8; `},
		"an empty import, which is the folder":   {"2.4.2", map[string]string{main: "version = 3\nimports = [\n  \"\"]\n", drop: "version = 3\n"}, `Error DaemonWillNotStart /etc/containerd/config.toml:3.../etc/containerd: is a directory`},
		"an import that is not there":            {"1.7.27", map[string]string{main: "version = 2\nimports = [\"/none.toml\"]\n"}, `Error DaemonWillNotStart /etc/containerd/config.toml:2.../none.toml: open /none.toml: `},
	} {
		t.Run(name, func(t *testing.T) {
			got := findingTexts(t, test.version, test.files)
			place, about, _ := strings.Cut(test.want, "...")
			if !strings.HasPrefix(got[0], place+": ") || !strings.Contains(got[0], about) {
				t.Errorf("got %s, want %s", got[0], test.want)
			}
		})
	}
}
