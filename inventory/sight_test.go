package inventory

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

func TestOutOfSight(t *testing.T) {
	rt, err := config.ParseRuntime("containerd://2.4.2")
	if err != nil {
		t.Fatal(err)
	}
	const main = "/etc/containerd/config.toml"
	for name, tt := range map[string]struct {
		files map[string]string
		links map[string]string
		want  string
	}{
		"the folder of the configuration is not shown":   {nil, nil, "/etc/containerd"},
		"it has no file: the runtime takes its defaults": {map[string]string{"/etc/containerd/": ""}, nil, ""},
		"all is shown": {map[string]string{main: "version = 3\nimports = ['conf.d/*.toml']", "/etc/containerd/conf.d/a.toml": ""}, nil, ""},
		"a folder that is not there, where it would be shown":      {map[string]string{main: "version = 3\nimports = ['/etc/containerd/conf.d/*.toml']"}, nil, ""},
		"a file that is not there, where it would be shown":        {map[string]string{main: "version = 3\nimports = ['/etc/containerd/a.toml']"}, nil, ""},
		"a file in a folder that is not shown":                     {map[string]string{main: "version = 3\nimports = ['/opt/kata/containerd/config.d/kata-deploy.toml']"}, nil, "/opt/kata/containerd/config.d/kata-deploy.toml"},
		"files in a folder that is not shown":                      {map[string]string{main: "version = 3\nimports = ['/opt/*/a-*.toml']"}, nil, "/opt/*"},
		"files in a folder that is shown, too":                     {map[string]string{main: "version = 3\nimports = ['/opt/kata/*.toml']", "/opt/kata/other": ""}, nil, ""},
		"files in a folder that may only be on the way to others":  {map[string]string{main: "version = 3\nimports = ['/etc/*.toml']"}, nil, "/etc/*"},
		"a file in a folder that may only be on the way to others": {map[string]string{main: "version = 3\nimports = ['/etc/nvidia.toml']"}, nil, "/etc/nvidia.toml"},
		"a file that is a link to elsewhere":                       {map[string]string{"/etc/containerd/": ""}, map[string]string{main: "/nix/store/config.toml"}, main},
		"a folder that is a link to elsewhere": {map[string]string{main: "version = 3\nimports = ['conf.d/*.toml']"},
			map[string]string{"/etc/containerd/conf.d": "/opt/conf.d"}, "/etc/containerd/conf.d/*"},
		"a drop-in that is a link to elsewhere": {map[string]string{main: "version = 3\nimports = ['conf.d/*.toml']", "/etc/containerd/conf.d/": ""},
			map[string]string{"/etc/containerd/conf.d/a.toml": "/opt/a.toml"}, "/etc/containerd/conf.d/a.toml"},
		"a folder that matches and is a link to elsewhere": {map[string]string{main: "version = 3\nimports = ['conf.d/*/a.toml']", "/etc/containerd/conf.d/b/a.toml": ""},
			map[string]string{"/etc/containerd/conf.d/c": "/opt/c"}, "/etc/containerd/conf.d/c"},
		"a folder below one that matches": {map[string]string{main: "version = 3\nimports = ['conf.d/*/in/*.toml']", "/etc/containerd/conf.d/b/": "", "/etc/containerd/conf.d/c/other": ""},
			map[string]string{"/etc/containerd/conf.d/b/in": "../../gone"}, "/etc/containerd/conf.d/b/in"},
		"folders that match, all shown": {map[string]string{main: "version = 3\nimports = ['conf.d/*/a.toml']", "/etc/containerd/conf.d/b/a.toml": "", "/etc/containerd/d/": ""},
			map[string]string{"/etc/containerd/conf.d/c": "../d"}, ""},
		"what a file imports that is imported": {map[string]string{main: "version = 3\nimports = ['a.toml']", "/etc/containerd/a.toml": "version = 3\nimports = ['/opt/b.toml']"},
			nil, "/opt/b.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range tt.files {
				write(t, dir+file, content)
			}
			for link, target := range tt.links {
				if err := os.Symlink(target, dir+link); err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			host, opt := hostfs.New(root.FS()), config.Options{Runtime: rt, Path: main, PathOptional: true}
			r, err := config.Load(host, opt)
			if err != nil {
				t.Fatal(err)
			}
			if got := outOfSight(host, opt, r.Files); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// write writes a file, or makes the folder if its name ends in a slash.
func write(t *testing.T, name, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil && name[len(name)-1] != '/' {
		err = os.WriteFile(name, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
