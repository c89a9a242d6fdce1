package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// TestUpgradeTruthTrees brings every tree that real builds of containerd were
// asked about from 1.7 to 2.4. Afterwards 2.4 has the handlers that 1.7 had, or
// it is said that it has not. What is said of each tree is in
// testdata/upgrade.golden (UPDATE=1 writes it anew).
func TestUpgradeTruthTrees(t *testing.T) {
	cases, err := os.ReadDir("testdata/truth/cases")
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	for _, entry := range cases {
		host := hostOf(t, filepath.Join("testdata/truth/cases", entry.Name()), truthDir)
		u := mustUpgrade(t, host, "1.7.27", "2.4.2")
		checkUpgrade(t, entry.Name(), host, u)
		tellUpgrade(&told, entry.Name(), u)
	}
	const golden = "testdata/upgrade.golden"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(told.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(told.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// TestUpgradeOtherVersions holds what must hold for other pairs of versions.
func TestUpgradeOtherVersions(t *testing.T) {
	cases, err := os.ReadDir("testdata/truth/cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{{"1.6.20", "1.7.27"}, {"1.6.36", "2.0.5"}, {"1.7.10", "2.2.9"}, {"2.1.4", "2.3.4"}} {
		t.Run(pair[0]+" to "+pair[1], func(t *testing.T) {
			for _, entry := range cases {
				host := hostOf(t, filepath.Join("testdata/truth/cases", entry.Name()), truthDir)
				checkUpgrade(t, entry.Name(), host, mustUpgrade(t, host, pair[0], pair[1]))
			}
		})
	}
}

func mustUpgrade(t *testing.T, host *hostfs.FS, from, to string) *Upgrade {
	t.Helper()
	u, err := NewUpgrade(host, Options{Runtime: mustRuntime(t, from), Path: truthDir + "/config.toml"}, mustRuntime(t, to))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// checkUpgrade checks what holds of every upgrade.
func checkUpgrade(t *testing.T, name string, host *hostfs.FS, u *Upgrade) {
	t.Helper()
	if u.Before.Daemon.State != NoStart {
		said := map[string]bool{}
		for _, c := range u.Left {
			said[c.Handler] = true
		}
		for _, was := range u.Before.Final().Handlers {
			is, ok := u.Mended.Final().Handler(was.Name)
			if removedShims[was.RuntimeType] != "" && is.RuntimeType == runcV2 {
				was.RuntimeType = runcV2
			}
			if (!ok || is != was) && !said[was.Name] {
				t.Errorf("%s: handler %+v became %+v, and nothing is said of it", name, was, is)
			}
		}
	}
	if slices.ContainsFunc(u.Files, func(f UpgradedFile) bool { return f.Problem != "" }) {
		return
	}
	for _, h := range u.Unmended.Final().Handlers {
		if _, ok := u.Mended.Final().Handler(h.Name); !ok {
			t.Errorf("%s: handler %q is lost by mending", name, h.Name)
		}
	}
	contents := map[string][]byte{}
	for _, f := range u.Files {
		contents[f.Real] = f.New
	}
	to := u.Mended.Runtime.Version
	again := mustUpgrade(t, host.With(contents), to, to)
	if len(again.Losses) > 0 {
		t.Errorf("%s: it loses by itself: %v", name, again.Losses)
	}
	for _, f := range again.Files {
		if f.Changed() {
			t.Errorf("%s: %s would be changed again:\n%s\n-- to:\n%s", name, f.Path, f.Old, f.New)
		}
	}
}

// tellUpgrade writes what is said of a tree.
func tellUpgrade(w *strings.Builder, name string, u *Upgrade) {
	changed := 0
	for _, f := range u.Files {
		if f.Changed() {
			changed++
		}
	}
	fmt.Fprintf(w, "%s: 1.7 %s %v, 2.4 %s %v, mended (%d of %d files) %s %v\n", name, u.Before.Daemon.State, u.Before.Final().Names(),
		u.Unmended.Daemon.State, u.Unmended.Final().Names(), changed, len(u.Files), u.Mended.Daemon.State, u.Mended.Final().Names())
	for _, f := range u.Files {
		if f.Problem != "" {
			fmt.Fprintf(w, "  not edited: %s: %s\n", f.Path, f.Problem)
		}
	}
	for _, c := range u.Losses {
		if c.Loss() && !slices.Contains(u.Left, c) {
			fmt.Fprintf(w, "  mended: %s\n", c.Message)
		}
	}
	for _, c := range u.Left {
		fmt.Fprintf(w, "  %s: %s\n", c.Kind, c.Message)
	}
}

// oneFile is a host with that main file.
func oneFile(t *testing.T, content string) *hostfs.FS {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return hostOf(t, dir, truthDir)
}

func TestRewrite(t *testing.T) {
	const old, now, images = `plugins."io.containerd.grpc.v1.cri"`, `plugins."io.containerd.cri.v1.runtime"`, `plugins."io.containerd.cri.v1.images"`
	tests := map[string]struct{ before, after, problem string }{
		"a version 3 file stays": {"version = 3\n[" + old + "]\n  sandbox_image = 'x'\n", "version = 3\n[" + old + "]\n  sandbox_image = 'x'\n", ""},
		"nothing to move":        {"version = 2 # of 2024\n", "version = 3 # of 2024\n", ""},
		"the table of all its keys": {
			"version = 2\n\n# pause\n[" + old + "]\n  sandbox_image = 'x' # mirrored\n",
			"version = 3\n\n# pause\n[" + images + ".pinned_images]\n  sandbox = 'x' # mirrored\n", "",
		},
		"moved behind the table, with comments": {
			"version = 2\n[" + old + "]\n  enable_selinux = true\n  # few\n  max_concurrent_downloads = 2\n[timeouts]\n",
			"version = 3\n[" + now + "]\n  enable_selinux = true\n\n[" + images + "]\n  # few\n  max_concurrent_downloads = 2\n[timeouts]\n", "",
		},
		"dotted keys": {
			"version = 2\n" + old + ".sandbox_image = 'x'\n" + old + ".containerd.runtimes.r.runtime_type = 't'\n",
			"version = 3\n" + images + ".pinned_images.sandbox = 'x'\n" + now + ".containerd.runtimes.r.runtime_type = 't'\n", "",
		},
		"what the target does not know and says nothing": {
			"version = 2\n[" + old + ".containerd.runtimes.r]\n  runtime_type = 't'\n  runtime_root = ''\n  runtime_engine = 'e'\n",
			"version = 3\n[" + now + ".containerd.runtimes.r]\n  runtime_type = 't'\n  runtime_engine = 'e'\n", "",
		},
		"an empty handler stays": {
			"version = 2\n[" + old + ".containerd.runtimes.r]\n  runtime_root = ''\n",
			"version = 3\n[" + now + ".containerd.runtimes.r]\n", "",
		},
		"several lines": {
			"version = 2\n[" + old + "]\n  registry.mirrors.x.endpoint = [\n    'a', # one\n    'b',\n  ]\n  enable_selinux = true\n",
			"version = 3\n[" + now + "]\n  enable_selinux = true\n\n[" + images + ".registry.mirrors.x]\n  endpoint = [\n    'a', # one\n    'b',\n  ]\n", "",
		},
		"carriage returns, and no end of the last line": {
			"version = 2\r\n[" + old + "]\r\n  enable_selinux = true\r\n  sandbox_image = 'x'",
			"version = 3\r\n[" + now + "]\r\n  enable_selinux = true\r\n\r\n[" + images + ".pinned_images]\r\n  sandbox = 'x'\r\n", "",
		},
		"a byte order mark, which 2.x refuses": {"\xef\xbb\xbfversion = 2\n", "version = 3\n", ""},
		"what 1.x finds in the parent table": {
			"version = 2\n[" + old + "]\n  default_runtime_name = 'r'\n[" + old + ".runtimes.r]\n  runtime_type = 't'\n",
			"version = 3\n[" + now + ".containerd]\n  default_runtime_name = 'r'\n[" + now + ".containerd.runtimes.r]\n  runtime_type = 't'\n", "",
		},
		"the task plugin's core scheduling": {
			"version = 2\n[plugins.\"io.containerd.runtime.v2.task\"]\n  platforms = ['linux/amd64']\n  sched_core = true\n",
			"version = 3\n[plugins.\"io.containerd.runtime.v2.task\"]\n  platforms = ['linux/amd64']\n\n[plugins.\"io.containerd.shim.v1.manager\"]\n  env = [\"SCHED_CORE=1\"]\n", "",
		},
		"a shim that 2.0 has no more": {
			"version = 2\n[" + old + ".containerd.runtimes.r]\n  runtime_type = 'io.containerd.runc.v1'\n  options = {BinaryName = 'crun'}\n",
			"version = 3\n[" + now + ".containerd.runtimes.r]\n  runtime_type = 'io.containerd.runc.v2'\n  options = {BinaryName = 'crun'}\n", "",
		},
		"the shim before it, as containerd 1.x writes it": {
			"version = 2\n[" + old + ".containerd.runtimes.r]\n  runtime_engine = ''\n  runtime_type = 'io.containerd.runtime.v1.linux'\n[" + old + ".containerd.runtimes.r.options]\n",
			"version = 3\n[" + now + ".containerd.runtimes.r]\n  runtime_type = 'io.containerd.runc.v2'\n[" + now + ".containerd.runtimes.r.options]\n", "",
		},
		"a shim of one's own stays": {
			"version = 2\n[" + old + ".containerd.runtimes.r]\n  runtime_type = 'io.containerd.runc.v1'\n  runtime_path = '/opt/shim'\n",
			"version = 3\n[" + now + ".containerd.runtimes.r]\n  runtime_type = 'io.containerd.runc.v1'\n  runtime_path = '/opt/shim'\n", "",
		},
		"options of other names stay": {
			"version = 2\n[" + old + ".containerd.runtimes.r]\n  runtime_type = 'io.containerd.runtime.v1.linux'\n[" + old + ".containerd.runtimes.r.options]\n  Runtime = 'crun'\n",
			"version = 3\n[" + now + ".containerd.runtimes.r]\n  runtime_type = 'io.containerd.runtime.v1.linux'\n[" + now + ".containerd.runtimes.r.options]\n  Runtime = 'crun'\n", "",
		},
		"a plugin for that shim": {
			"version = 2\n[plugins.'io.containerd.runtime.v1.linux']\n  runtime = 'crun'\n[" + old + ".containerd.runtimes.r]\n  runtime_type = 'io.containerd.runtime.v1.linux'\n",
			"version = 3\n[plugins.'io.containerd.runtime.v1.linux']\n  runtime = 'crun'\n[" + now + ".containerd.runtimes.r]\n  runtime_type = 'io.containerd.runtime.v1.linux'\n", "",
		},
		"two names of the plugin": {
			"version = 2\n[" + old + ".containerd]\n[" + now + ".containerd]\n", "", "keep the first, which is the one that counts before 2.0",
		},
		"no number for a version": {"version = '2'\n", "version = 3\n", ""},
		"no TOML":                 {"version = 2\n[", "", "not the TOML that containerd 2.x reads"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			host := oneFile(t, tt.before)
			u := mustUpgrade(t, host, "1.7.27", "2.4.2")
			checkUpgrade(t, name, host, u)
			f := u.Files[0]
			if tt.problem != "" {
				if !strings.Contains(f.Problem, tt.problem) || f.Changed() {
					t.Errorf("problem %q, want %q", f.Problem, tt.problem)
				}
				return
			}
			if diff := cmp.Diff(tt.after, string(f.New)); diff != "" || f.Problem != "" {
				t.Errorf("problem %q, -want +got:\n%s", f.Problem, diff)
			}
		})
	}
}

// FuzzRewrite: whatever a file holds, it is edited to what is TOML and needs no
// editing again, or left alone.
func FuzzRewrite(f *testing.F) {
	files, err := filepath.Glob("testdata/truth/cases/*/*.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	from, _ := ParseRuntime("1.7.27")
	to, _ := ParseRuntime("2.4.2")
	f.Fuzz(func(t *testing.T, data []byte) {
		file := UpgradedFile{Path: "/config.toml", Old: data}
		same := func(pattern string) string { return pattern }
		file.rewrite(from, to, true, same)
		if file.Problem != "" {
			if !bytes.Equal(file.Old, file.New) {
				t.Errorf("changed in spite of %s", file.Problem)
			}
			return
		}
		again := UpgradedFile{Path: "/config.toml", Old: file.New}
		again.rewrite(to, to, true, same)
		if again.Problem != "" || again.Changed() {
			t.Errorf("%q became %q, and that: %s %q", data, file.New, again.Problem, again.New)
		}
	})
}
