package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

// TestStock: what counts as a default is what dumps of real builds show where no
// file says anything.
func TestStock(t *testing.T) {
	for version, file := range map[string]string{
		"1.7.35": "base-empty@1.7.35.toml",
		"2.0.14": "t-v3-empty-dropin@2.0.14.toml",
		"2.4.2":  "b-v3-tilde@2.4.2.toml",
	} {
		data, err := os.ReadFile(filepath.Join("testdata/dumps", file))
		if err != nil {
			t.Fatal(err)
		}
		var dump struct{ Plugins map[string]any }
		if err := toml.Unmarshal(data, &dump); err != nil {
			t.Fatal(err)
		}
		rt := mustRuntime(t, version)
		move := slices.Clone[[]string]
		if rt.class() == classA {
			move = (&mover{from: rt, to: mustRuntime(t, "2.4.2")}).move
		}
		shown := map[string]any{}
		leaves(shown, []string{"plugins"}, dump.Plugins, move)
		stock := rt.stock()
		for path, value := range shown {
			parts := strings.Split(path, pathSep)
			// The image for sandboxes has another tag in many patch releases.
			if !criPlugins[parts[0]] || isHandler(parts) || strings.HasSuffix(path, defaultSuffix) || rt.class() != classA && parts[1] == "pinned_images" {
				continue
			}
			if !sameSetting(value, stock[path]) {
				t.Errorf("%s: %s is %v by default, and here %v", version, settingName(parts), value, stock[path])
			}
			delete(stock, path)
		}
		for path := range stock {
			if rt.class() == classA || rt.knows(path) {
				t.Errorf("%s: %s has no default", version, settingName(strings.Split(path, pathSep)))
			}
		}
	}
}

// TestInForce: what the main file says of a plugin is ignored by 1.x when a later
// file has the plugin's section, and counts in 2.x.
func TestInForce(t *testing.T) {
	const head = "version = 2\nimports = ['z.toml']\n"
	const cri = "[plugins.'io.containerd.grpc.v1.cri']\n"
	const runc = "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]\n  runtime_type = 'io.containerd.runc.v2'\n"
	tests := map[string]struct {
		main, dropIn, from string
		want               []string
	}{
		"a switch": {head + cri + "disable_apparmor = true\n", runc, "1.7.27", []string{
			`"io.containerd.cri.v1.runtime".disable_apparmor is true (/etc/tree/config.toml:4): containerd 1.7.27 ignored it, since /etc/tree/z.toml:2 replaces the plugin's whole section`,
		}},
		"one that is on without it": {head + cri + "tolerate_missing_hugetlb_controller = false\n", runc, "1.6.39", []string{
			`"io.containerd.cri.v1.runtime".tolerate_missing_hugetlb_controller is false (/etc/tree/config.toml:4): containerd 1.6.39 ignored it, since /etc/tree/z.toml:2 replaces the plugin's whole section`,
		}},
		"keys that the older version does not know": {head + cri + "cdi_spec_dirs = ['/x']\nenable_cdi = true\nenable_criu = false\nsnapshotter = 'native'\n", "", "1.6.36", []string{
			`"io.containerd.cri.v1.runtime".cdi_spec_dirs is ["/x"] (/etc/tree/config.toml:4): containerd 1.6.36 does not know it`,
		}},
		"a key of 2.x, in 1.7": {head + "[plugins.'io.containerd.grpc.v1.cri'.cni]\nuse_internal_loopback = true\n[plugins.'io.containerd.grpc.v1.cri'.registry]\nconfig_path = '/certs'\n", "", "1.7.27", []string{
			`"io.containerd.cri.v1.runtime".cni.use_internal_loopback is true (/etc/tree/config.toml:4): containerd 1.7.27 does not know it`,
		}},
		"a key that has another name, and a list": {head + cri + "sandbox_image = 'mirror/pause'\n[plugins.'io.containerd.grpc.v1.cri'.cni]\nbin_dir = '/cni'\n", runc, "1.7.27", []string{
			`"io.containerd.cri.v1.images".pinned_images.sandbox is "mirror/pause" (/etc/tree/config.toml:4): containerd 1.7.27 ignored it, since /etc/tree/z.toml:2 replaces the plugin's whole section`,
			`"io.containerd.cri.v1.runtime".cni.bin_dirs is ["/cni"] (/etc/tree/config.toml:6): containerd 1.7.27 ignored it, since /etc/tree/z.toml:2 replaces the plugin's whole section`,
		}},
		"a password is not printed": {head + cri + "[plugins.'io.containerd.grpc.v1.cri'.registry.configs.r.auth]\nusername = 'u'\npassword = 'secret'\n", runc, "1.7.27", []string{
			`"io.containerd.cri.v1.images".registry.configs.r.auth.password is … (/etc/tree/config.toml:6): containerd 1.7.27 ignored it, since /etc/tree/z.toml:2 replaces the plugin's whole section`,
			`"io.containerd.cri.v1.images".registry.configs.r.auth.username is "u" (/etc/tree/config.toml:5): containerd 1.7.27 ignored it, since /etc/tree/z.toml:2 replaces the plugin's whole section`,
		}},
		"another plugin": {head + "[plugins.'io.containerd.nri.v1.nri']\nplugin_path = '/nri'\n", "version = 2\n[plugins.'io.containerd.nri.v1.nri']\n", "1.7.27", []string{
			`"io.containerd.nri.v1.nri".plugin_path is "/nri" (/etc/tree/config.toml:4): containerd 1.7.27 ignored it, since /etc/tree/z.toml:2 replaces the plugin's whole section`,
		}},
		"a section by the name of another version": {"[plugins.'io.containerd.grpc.v1.cri']\nenable_selinux = true\n", "", "1.7.27", []string{
			`"io.containerd.cri.v1.runtime".enable_selinux is true (/etc/tree/config.toml:2): containerd 1.7.27 ignored it, since it reads cri in a version 1 configuration`,
		}},
		"a section by the name of a newer plugin": {"version = 2\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = 'pause'\n", "", "1.7.27", []string{
			`"io.containerd.cri.v1.images".pinned_images.sandbox is "pause" (/etc/tree/config.toml:3): containerd 1.7.27 ignored it, since it reads io.containerd.grpc.v1.cri in a version 2 configuration`,
		}},
		"both files say the same": {head + cri + "disable_apparmor = true\n", runc + cri + "disable_apparmor = true\n", "1.7.27", nil},
		"the last file says no":   {head + cri + "disable_apparmor = true\n", runc + cri + "disable_apparmor = false\n", "1.7.27", nil},
		"what 1.x has by default": {head + cri + "max_concurrent_downloads = 3\nenable_unprivileged_ports = false\nsandbox_image = 'registry.k8s.io/pause:3.8'\n", runc, "1.7.27", nil},
		"what 2.x has by default": {head + cri + "enable_unprivileged_ports = true\n", runc, "1.7.27", nil},
		"what 2.x does not know":  {head + cri + "systemd_cgroup = true\n", runc, "1.7.27", nil},
		"no CRI is served":        {head + "disabled_plugins = ['io.containerd.grpc.v1.cri']\n" + cri + "enable_selinux = true\n", runc, "1.7.27", nil},
		"2.x merged it already":   {head + cri + "disable_apparmor = true\n", runc, "2.0.5", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range map[string]string{"config.toml": tt.main, "z.toml": tt.dropIn} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			u := mustUpgrade(t, hostOf(t, dir, truthDir), tt.from, "2.4.2")
			for which, changes := range map[string][]Change{"as they are": u.Losses, "mended": u.Left} {
				var got []string
				for _, c := range changes {
					if c.InForce() {
						got = append(got, c.Message)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s, -want +got:\n%s", which, diff)
				}
			}
		})
	}
}
