package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestDescribe(t *testing.T) {
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "c0ffee"}
	tests := map[string]struct {
		stamped         string
		info            *debug.BuildInfo
		version, commit string
	}{
		"nothing is known":                 {"", nil, "devel", ""},
		"a checkout":                       {"", build("(devel)"), "devel", ""},
		"a checkout, with its commit":      {"", build("v0.1.1-0.20260102030405-c0ffee", commit), "v0.1.1-0.20260102030405-c0ffee", "c0ffee"},
		"installed by its version":         {"", build("v0.1.0"), "v0.1.0", ""},
		"the linker's version goes before": {"v0.2.0", build("(devel)", commit), "v0.2.0", "c0ffee"},
		"also before that of the module":   {"v0.2.0", build("v0.1.0"), "v0.2.0", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := describe(tt.stamped, tt.info); got.Version != tt.version || got.Commit != tt.commit {
				t.Errorf("got %+v, want version %q of commit %q", got, tt.version, tt.commit)
			}
		})
	}
}

// What is asked of an API server is asked in the program's name.
func TestUserAgent(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	const content = `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}`
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	v := thisBuild()
	for _, persistent := range []bool{true, false} {
		flags := newClusterFlags(persistent)
		*flags.KubeConfig = kubeconfig
		c, err := flags.ToRESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		if want := "runtimegate/" + v.Version + " (" + v.Platform + ")"; c.UserAgent != want {
			t.Errorf("got %q, want %q", c.UserAgent, want)
		}
	}
}
