package configdiff

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runtimegate/runtimegate/config"
)

// ignoredSettings is a tree with settings that 1.7 ignores, since the drop-in has the
// section too.
var ignoredSettings = Tree{Files: map[string]string{
	"config.toml": `version = 2
imports = ["z.toml"]
[plugins."io.containerd.grpc.v1.cri"]
  enable_selinux = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = false
  stream_server_port = "10010"
  max_concurrent_downloads = 20
  sandbox_image = "mirror/pause"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/old-certs.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    discard_unpacked_layers = true
`,
	"z.toml": `version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
`,
}}

// The sections of the CRI in 2.x.
var criSections = []string{"io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images", "io.containerd.grpc.v1.cri"}

// stockOf are the settings of the CRI that a version has without any file's.
func stockOf(t *testing.T, program string) map[string]any {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte("version = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, plugins, said := dumpOf(t, program, dir)
	if plugins == nil {
		t.Fatalf("%s dumps nothing: %s", program, said)
	}
	return settingsOf(plugins)
}

// settingsOf are the CRI's settings of a dump of 2.x by name, handlers left out.
func settingsOf(plugins map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range criSections {
		add(out, fmt.Sprintf("%q", name), plugins[name])
	}
	maps.DeleteFunc(out, func(name string, _ any) bool {
		return strings.Contains(name, ".containerd.runtimes.") || strings.HasSuffix(name, ".default_runtime_name")
	})
	return out
}

func add(out map[string]any, path string, v any) {
	if table, ok := v.(map[string]any); ok {
		for key, v := range table {
			add(out, path+"."+key, v)
		}
		return
	}
	out[path] = v
}

// olderValue is what a dump of 1.7 has for a setting of 2.4.
func olderValue(was map[string]any, name string) any {
	_, key, _ := strings.Cut(name, `".`)
	switch key {
	case "pinned_images.sandbox":
		key = "sandbox_image"
	case "cni.bin_dirs":
		return []any{was["cri.cni.bin_dir"]}
	}
	if v, ok := was["cri."+key]; ok {
		return v
	}
	return was["cri.containerd."+key]
}

// untoldSettings are those of 2.4 that are neither as 1.7 has them nor as by default,
// and not told; and those told that are not so.
func untoldSettings(was, is, stock map[string]any, told []config.Change) string {
	old := map[string]any{}
	add(old, "cri", was["io.containerd.grpc.v1.cri"])
	var out strings.Builder
	toldOf := func(name string, kind func(config.Change) bool) bool {
		return slices.ContainsFunc(told, func(c config.Change) bool {
			return kind(c) && strings.HasPrefix(strings.ReplaceAll(c.Message, `"`, ""), strings.ReplaceAll(name, `"`, "")+" ")
		})
	}
	for name, now := range settingsOf(is) {
		value := olderValue(old, name)
		same := fmt.Sprint(now) == fmt.Sprint(value) || fmt.Sprint(now) == fmt.Sprint(stock[name]) || value == nil && empty(now)
		switch {
		case !same && !toldOf(name, func(config.Change) bool { return true }):
			fmt.Fprintf(&out, "%s is %v and was %v, and that is not told\n", name, now, value)
		case same && toldOf(name, config.Change.InForce):
			fmt.Fprintf(&out, "%s is told to come into force, and is %v as before or by default\n", name, now)
		}
	}
	return out.String()
}

func empty(v any) bool {
	return v == nil || slices.Contains([]string{"", "false", "0", "[]"}, fmt.Sprint(v))
}
