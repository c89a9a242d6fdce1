package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// findingTexts are the findings of a tree above Info, with what they say.
func findingTexts(t *testing.T, version string, files map[string]string) []string {
	t.Helper()
	r, err := Load(hostileHost(files), Options{Runtime: mustRuntime(t, version), Path: main})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Findings {
		if f.Severity != Info {
			text := fmt.Sprintf("%s %s %s:%d: %s; %s", f.Severity, f.Code, f.File, f.Line, f.Message, f.Fix)
			got = append(got, strings.ReplaceAll(text, runtimeCRI, "R"))
		}
	}
	return got
}

func TestTablesInTheWrongPlace(t *testing.T) {
	const (
		root    = "version = 3\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n"
		right   = "version = 3\n\n[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.nvidia]\n  runtime_type = \"io.containerd.runc.v2\"\n\n"
		wrong   = "version = 3\n\n[plugins.\"io.containerd.cri.v1.runtime\".runtimes.nvidia]\n  runtime_type = \"io.containerd.runc.v2\"\n\n"
		options = "[plugins.\"io.containerd.cri.v1.runtime\".runtimes.nvidia.options]\n  BinaryName = \"/usr/bin/nvidia-container-runtime\"\n"
	)
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"the table and its options": {
			map[string]string{main: root, drop: wrong + options},
			[]string{`Warning WrongParentTable /etc/containerd/conf.d/99-nvidia.toml:3: handler "nvidia" is ignored: [plugins."R".runtimes.nvidia] is no place for a handler: the table containerd is missing in between; write [plugins."R".containerd.runtimes.nvidia] and [plugins."R".containerd.runtimes.nvidia.options] in place of line 6`},
		},
		"the options alone": {
			map[string]string{main: root, drop: right + options},
			[]string{`Warning WrongParentTable /etc/containerd/conf.d/99-nvidia.toml:6: a part of handler "nvidia" is ignored: [plugins."R".runtimes.nvidia.options] is no place for a part of a handler: the table containerd is missing in between; write [plugins."R".containerd.runtimes.nvidia.options]`},
		},
		"options of the built-in runc": {
			map[string]string{main: root, drop: "[plugins.'io.containerd.cri.v1.runtime'.runtimes.runc]\nruntime_type = \"io.containerd.runc.v2\"\noptions = {SystemdCgroup = true}\n"},
			[]string{`Warning WrongParentTable /etc/containerd/conf.d/99-nvidia.toml:1: a table of handler "runc" is ignored: [plugins."R".runtimes.runc] is no place for a handler: the table containerd is missing in between; write [plugins."R".containerd.runtimes.runc]`},
		},
		"options alone, of a table without runtimes": {
			map[string]string{main: root, drop: right + strings.ReplaceAll(options, ".runtimes.nvidia", ".containerd.nvidia")},
			[]string{`Warning WrongParentTable /etc/containerd/conf.d/99-nvidia.toml:6: a part of handler "nvidia" is ignored: [plugins."R".containerd.nvidia.options] is no place for a part of a handler; write [plugins."R".containerd.runtimes.nvidia.options]`},
		},
		"options alone of the built-in runc, without runtimes": {
			map[string]string{main: root + "[plugins.'io.containerd.cri.v1.runtime'.containerd.runc.options]\n  SystemdCgroup = true\n"},
			[]string{`Warning WrongParentTable /etc/containerd/config.toml:3: a part of handler "runc" is ignored: [plugins."R".containerd.runc.options] is no place for a part of a handler; write [plugins."R".containerd.runtimes.runc.options]`},
		},
		"what another place gives as well": {
			map[string]string{main: root + strings.TrimPrefix(strings.ReplaceAll(right+options, ".runtimes.nvidia.options", ".containerd.runtimes.nvidia.options"), "version = 3\n"), drop: wrong + options},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, findingTexts(t, "2.4.2", test.files)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestImportsThatMissAFileAreNamed(t *testing.T) {
	for pattern, want := range map[string]string{
		"/etc/containerd/conf.d/*.conf": `the pattern "/etc/containerd/conf.d/*.conf" of /etc/containerd/config.toml:2 does not match it; rename it so that "*.conf" matches it, or correct the pattern, then restart the runtime`,
		"/etc/containerd/cnf.d/*.toml":  `no imports of /etc/containerd/config.toml name it; the pattern "/etc/containerd/cnf.d/*.toml" of /etc/containerd/config.toml:2 matches no file; add "/etc/containerd/conf.d/*.toml" to imports in /etc/containerd/config.toml, then restart the runtime`,
	} {
		got := findingTexts(t, "2.4.2", map[string]string{main: "version = 3\nimports = [\"" + pattern + "\"]\n", drop: "version = 3\n" + nv2})
		want = `Warning NotImported /etc/containerd/conf.d/99-nvidia.toml:2: handler "nvidia" stands in a file that nothing reads: ` + want
		if len(got) == 0 || got[0] != want {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}

// What migrate keeps of a file is not to be read, whatever is in it.
func TestBackupsAreNotImported(t *testing.T) {
	files := map[string]string{main: "version = 3\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n", drop + ".runtimegate-20260102T030405Z": "version = 3\n" + nv2}
	if got := findingTexts(t, "2.4.2", files); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}
