package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Trees of testdata/truth that are odd on purpose though everything loads.
var oddTrees = []string{
	"odd-names", "empty-name", "no-type", "options-as-handler", "dotted-", "same-handler-two-files", "override-values", "plugin-typo", "falsy-override", "key-case",
	"unknown-field", "default-after-subtable", "version-after-table", "runtime-engine",
}

// On a tree whose handlers are all loaded there is no finding above Info.
func TestNoFalseAlarms(t *testing.T) {
	trees := set{}
	for _, row := range readRows[truthRow](t, "testdata/truth/expected.jsonl") {
		if row.Daemon == nil || row.Daemon.State != Running || slices.ContainsFunc(oddTrees, func(s string) bool { return strings.Contains(row.Case, s) }) {
			continue
		}
		host := hostOf(t, filepath.Join("testdata/truth/cases", row.Case), truthDir)
		r, err := Load(host, Options{Runtime: mustRuntime(t, row.Version), Path: truthDir + "/config.toml"})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(r.Handlers, func(h HandlerReport) bool { return !slices.Contains(row.Daemon.Handlers, h.Name) }) {
			continue
		}
		trees[row.Case+" "+row.Version] = true
		for _, f := range r.Findings {
			if f.Severity != Info {
				t.Errorf("%s with %s: a false alarm: %+v", row.Case, row.Version, f)
			}
		}
	}
	t.Logf("%d healthy rows", len(trees))
	if len(trees) < 500 {
		t.Errorf("only %d healthy rows", len(trees))
	}
}

// What has not loaded has a finding above Info that names it.
func TestNoHandlerIsLostInSilence(t *testing.T) {
	n := 0
	for _, row := range readRows[truthRow](t, "testdata/truth/expected.jsonl") {
		host := hostOf(t, filepath.Join("testdata/truth/cases", row.Case), truthDir)
		r, err := Load(host, Options{Runtime: mustRuntime(t, row.Version), Path: truthDir + "/config.toml"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Daemon.State == NoStart {
			continue
		}
		for _, h := range r.Handlers {
			if h.Fate == Loaded || h.Fate == Merged {
				continue
			}
			n++
			if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Handler == h.Name && f.Severity != Info && f.Line > 0 }) && r.Daemon.State == Running {
				t.Errorf("%s with %s: handler %q is %s: %+v", row.Case, row.Version, h.Name, h.Fate, r.Findings)
			}
		}
	}
	t.Logf("%d handlers not loaded", n)
}

// A file that is not read because the load ends before it is not told as ignored.
func TestFilesBehindABrokenOneAreLost(t *testing.T) {
	r, err := Load(hostileHost(map[string]string{
		main: "version = 3\nimports = [\"conf.d/*.toml\"]\n", drop: "version = 3\n" + nv2, "/etc/containerd/conf.d/50-logs.toml": "oom_score = \n",
	}), Options{Runtime: mustRuntime(t, "2.4.2"), Path: main})
	if err != nil {
		t.Fatal(err)
	}
	got := r.Handlers[0]
	want := "the runtime does not start: it reads no further than /etc/containerd/conf.d/50-logs.toml"
	if got.Name != "nvidia" || got.Fate != Lost || got.Origins[0].Why != want {
		t.Errorf("got %+v", got)
	}
}

// A findingTest is a small tree and the findings it has above Info, and those
// of Info that are asked for.
type findingTest struct {
	version string
	files   map[string]string
	want    []string // "Severity Code file:line handler"
	info    bool
}

const (
	nv1  = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia]\n  runtime_type = \"io.containerd.runc.v2\"\n"
	nv2  = "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]\n  runtime_type = \"io.containerd.runc.v2\"\n"
	runc = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"\n"
	main = "/etc/containerd/config.toml"
	drop = "/etc/containerd/conf.d/99-nvidia.toml"
)

var findingTests = map[string]findingTest{
	"a drop-in beside a glob for .conf": {
		"2.4.2", map[string]string{main: "version = 2\nimports = [\"/etc/containerd/conf.d/*.conf\"]\n", drop: "version = 2\n" + nv1},
		[]string{"Warning NotImported 99-nvidia.toml:2 nvidia", "Warning ImportMatchesNothing config.toml:2 "}, false,
	},
	"a drop-in that nothing imports": {
		"1.7.27", map[string]string{main: "version = 2\n" + runc, drop: "version = 2\n" + nv1},
		[]string{"Warning NotImported 99-nvidia.toml:2 nvidia"}, false,
	},
	"a drop-in behind one that can't be read matches all the same": {
		"2.4.2", map[string]string{main: "version = 3\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n", drop: "version = 3\n" + nv2, "/etc/containerd/conf.d/50-logs.toml": "version = 3\noom_score = \n"},
		[]string{"Error DaemonWillNotStart 50-logs.toml:2 "}, false,
	},
	"an empty folder of drop-ins is fine": {
		"2.4.2", map[string]string{main: "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n"},
		[]string{"Info ImportMatchesNothing config.toml:2 "}, true,
	},
	"1.x: the drop-in takes the built-in runc away": {
		"1.7.27", map[string]string{main: "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n", drop: "version = 2\n" + nv1},
		[]string{"Error CRIDisabled config.toml:1 ", "Error DefaultMissing config.toml:1 runc", "Error SectionReplaced 99-nvidia.toml:2 runc"}, false,
	},
	"2.2: a version 3 drop-in under a version 2 root": {
		"2.2.9", map[string]string{main: "version = 2\nimports = [\"conf.d/*.toml\"]\n" + nv1, drop: "version = 3\n"},
		[]string{"Error HigherDropInVersion 99-nvidia.toml:1 ", "Error LostInMigration config.toml:3 nvidia"}, false,
	},
	"2.3.4: the same does not start": {
		"2.3.4", map[string]string{main: "version = 2\nimports = [\"conf.d/*.toml\"]\n" + nv1, drop: "version = 3\n"},
		[]string{"Error DaemonWillNotStart 99-nvidia.toml:1 ", "Error HigherDropInVersion 99-nvidia.toml:1 "}, false,
	},
	"2.4: the same is fine": {
		"2.4.2", map[string]string{main: "version = 2\nimports = [\"conf.d/*.toml\"]\n" + nv1, drop: "version = 3\n"},
		nil, false,
	},
	"2.2: the old name in a version 3 file": {
		"2.2.9", map[string]string{main: "version = 3\n" + nv1},
		[]string{"Error OldPluginName config.toml:2 nvidia"}, false,
	},
	"1.7: the new name": {
		"1.7.27", map[string]string{main: "version = 2\n" + nv2 + runc},
		[]string{"Error WrongPluginName config.toml:2 nvidia"}, false,
	},
	"a misspelt plugin": {
		"2.4.2", map[string]string{main: "version = 2\n" + strings.ReplaceAll(nv1, "grpc.v1.cri", "grpc.v1.crii")},
		[]string{"Warning UnknownPlugin config.toml:2 nvidia"}, false,
	},
	"a table under the wrong parent": {
		"2.4.2", map[string]string{main: "version = 2\n" + strings.ReplaceAll(nv1, "runtimes.", "")},
		[]string{"Warning WrongParentTable config.toml:2 nvidia"}, false,
	},
	"1.7: no table containerd is fine when there is none": {
		"1.7.27", map[string]string{main: "version = 2\n" + strings.ReplaceAll(nv1+runc, ".containerd.runtimes", ".runtimes")},
		nil, false,
	},
	"an unquoted dot": {
		"2.4.2", map[string]string{main: "version = 2\n" + strings.ReplaceAll(nv1, "nvidia", "nvidia.cdi")},
		[]string{"Warning WrongParentTable config.toml:2 cdi", "Warning RuntimeTypeEmpty config.toml:2 nvidia"}, false,
	},
	"a default that is not there": {
		"2.4.2", map[string]string{main: "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  default_runtime_name = \"nvidia\"\n"},
		[]string{"Error CRIDisabled config.toml:3 ", "Error DefaultMissing config.toml:3 nvidia"}, false,
	},
	"CRI is disabled": {
		"2.4.2", map[string]string{main: "version = 2\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n"},
		[]string{"Error CRIDisabled config.toml:2 "}, false,
	},
	"a syntax error": {
		"2.4.2", map[string]string{main: "version = 2\nimports = [\"conf.d/*.toml\"]\n", drop: "version = 2\n[plugins\n"},
		[]string{"Error DaemonWillNotStart 99-nvidia.toml:2 "}, false,
	},
	"a syntax error, in 1.7": {
		"1.7.27", map[string]string{main: "version = 2\nimports = [\"conf.d/*.toml\"]\n", drop: "version = 2\nx\n"},
		[]string{"Error DaemonWillNotStart 99-nvidia.toml:2 "}, false,
	},
	"names that no RuntimeClass can have": {
		"2.4.2", map[string]string{main: "version = 2\n" + strings.ReplaceAll(nv1, "nvidia", "NVIDIA")},
		[]string{"Warning UnreferencableHandler config.toml:2 NVIDIA"}, false,
	},
	"BinaryName for another shim": {
		"2.4.2", map[string]string{main: "version = 2\n" + strings.ReplaceAll(nv1, "runc.v2", "kata.v2") + "  options = {BinaryName = \"/x\"}\n"},
		[]string{"Warning BinaryNameIgnored config.toml:2 nvidia"}, false,
	},
	"a dump of 2.0.5 proves nothing": {
		"2.0.5", map[string]string{main: "version = 2\n" + nv1},
		[]string{"Info DumpNotProof config.toml:1 "}, true,
	},
	"a drop-in chooses the default": {
		"2.4.2", map[string]string{main: "version = 3\nimports = [\"conf.d/*\"]\n", drop: "version = 3\n" + nv2 + "[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = \"nvidia\"\n"},
		[]string{"Info DefaultChanged 99-nvidia.toml:5 nvidia"}, true,
	},
	"two owners": {
		"2.4.2", map[string]string{main: "version = 3\nimports = [\"conf.d/*\"]\n" + nv2, drop: "version = 3\n" + nv2},
		[]string{"Info DuplicateOwner 99-nvidia.toml:2 nvidia"}, true,
	},
	"two names for the plugin in a version 1 file": {
		"2.4.2", map[string]string{main: "[plugins.cri]\n" + nv1},
		[]string{"Warning TwoPluginNames config.toml:1 "}, false,
	},
	"2.x: a list in place of a table": {
		"2.4.2", map[string]string{
			main:                            "version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n",
			"/etc/containerd/conf.d/1.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]\nruntime_type = 'io.containerd.runc.v2'\n",
			"/etc/containerd/conf.d/2.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\nruntimes = []\n",
			"/etc/containerd/conf.d/3.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]\nruntime_type = 'io.containerd.runc.v2'\n",
		},
		[]string{"Error TypeReplaced 1.toml:2 nvidia"}, false,
	},
	"CRI-O: the wrong folder": {
		"cri-o 1.33.0", map[string]string{"/etc/crio/crio.conf": "", "/etc/crio/conf.d/nv.toml": "[crio.runtime.runtimes.nvidia]\nruntime_path = \"/x\"\n"},
		[]string{"Warning NotImported nv.toml:1 nvidia"}, false,
	},
	"CRI-O: a later file replaces": {
		"cri-o 1.33.0", map[string]string{
			"/etc/crio/crio.conf":     "[crio.runtime.runtimes.nvidia]\nruntime_path = \"/x\"\n",
			"/etc/crio/crio.conf.d/1": "[crio.runtime.runtimes.nvidia]\nruntime_path = \"/y\"\n",
		},
		[]string{"Info SectionReplaced 1:1 nvidia"}, true,
	},
}

func TestFindings(t *testing.T) {
	for name, test := range findingTests {
		t.Run(name, func(t *testing.T) {
			rt := mustRuntime(t, test.version)
			path := main
			if rt.Name == CRIO {
				path = DefaultCRIOPath
			}
			r, err := Load(hostileHost(test.files), Options{Runtime: rt, Path: path})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range r.Findings {
				if f.Severity != Info || test.info {
					got = append(got, fmt.Sprintf("%s %s %s:%d %s", f.Severity, f.Code, filepath.Base(f.File), f.Line, f.Handler))
				}
				if f.Message == "" || strings.ContainsAny(f.Message+f.Fix, "\n") {
					t.Errorf("not one line: %+v", f)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s\n%+v", diff, r.Findings)
			}
		})
	}
}
