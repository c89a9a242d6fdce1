package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

// hostWith is a host with these files; those of a bin folder are programs.
func hostWith(files ...string) *hostfs.FS {
	m := fstest.MapFS{"etc": {Mode: 0o755 | os.ModeDir}}
	for _, f := range files {
		mode := os.FileMode(0o644)
		if strings.Contains(f, "/bin/") {
			mode = 0o755
		}
		m[strings.TrimPrefix(f, "/")] = &fstest.MapFile{Mode: mode}
	}
	return hostfs.New(m)
}

const (
	k3sConfig  = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
	rke2Config = "/var/lib/rancher/rke2/agent/etc/containerd/config.toml"
	crioConfig = "/etc/crio/crio.conf"
)

func TestFindTarget(t *testing.T) {
	type result struct {
		Name, Path, Runtime, Program, Error string
		Known                               bool
		Others                              []string
	}
	for name, test := range map[string]struct {
		files          []string
		given, runtime string
		want           result
	}{
		"containerd's default path": {
			files: []string{config.DefaultConfigPath, "/usr/local/bin/containerd"},
			want:  result{Name: "containerd", Path: config.DefaultConfigPath, Runtime: "containerd", Program: "/usr/local/bin/containerd", Known: true},
		},
		"k3s reads its own file, whatever an installer left in /etc": {
			files: []string{config.DefaultConfigPath, k3sConfig},
			want:  result{Name: "k3s", Path: k3sConfig, Runtime: "containerd", Known: true, Others: []string{config.DefaultConfigPath}},
		},
		"RKE2": {
			files: []string{rke2Config, "/var/lib/rancher/rke2/bin/containerd"},
			want:  result{Name: "RKE2", Path: rke2Config, Runtime: "containerd", Program: "/var/lib/rancher/rke2/bin/containerd", Known: true},
		},
		"MicroK8s": {
			files: []string{"/var/snap/microk8s/current/args/containerd.toml"},
			want:  result{Name: "MicroK8s", Path: "/var/snap/microk8s/current/args/containerd.toml", Runtime: "containerd", Known: true},
		},
		"k0s": {
			files: []string{"/etc/k0s/containerd.toml", "/run/k0s/containerd-cri.toml"},
			want:  result{Name: "k0s", Path: "/etc/k0s/containerd.toml", Runtime: "containerd", Known: true},
		},
		"CRI-O with drop-ins only": {
			files: []string{"/etc/crio/crio.conf.d/10-crun.conf", "/usr/bin/crio"},
			want:  result{Name: "CRI-O", Path: crioConfig, Runtime: "cri-o", Program: "/usr/bin/crio", Known: true},
		},
		"both are installed, containerd comes first": {
			files: []string{crioConfig, config.DefaultConfigPath},
			want:  result{Name: "containerd", Path: config.DefaultConfigPath, Runtime: "containerd", Known: true, Others: []string{crioConfig}},
		},
		"both are installed, CRI-O runs": {
			files: []string{crioConfig, config.DefaultConfigPath, "/run/crio/crio.sock"},
			want:  result{Name: "CRI-O", Path: crioConfig, Runtime: "cri-o", Known: true, Others: []string{config.DefaultConfigPath}},
		},
		"both are installed, --runtime crio": {
			files: []string{crioConfig, config.DefaultConfigPath}, runtime: "cri-o",
			want: result{Name: "CRI-O", Path: crioConfig, Runtime: "cri-o", Known: true},
		},
		"no file at all, but a containerd": {
			files: []string{"/usr/bin/containerd"},
			want:  result{Name: "containerd", Path: config.DefaultConfigPath, Runtime: "containerd", Program: "/usr/bin/containerd", Known: true},
		},
		"nothing at all": {
			want: result{Error: "no configuration found: looked at " + strings.Join(knownConfigs(""), ", ") + "; name the file"},
		},
		"a file of one's own": {
			given: "/srv/config.toml",
			want:  result{Path: "/srv/config.toml", Runtime: "containerd"},
		},
		"a crio.conf of one's own": {
			given: "/srv/crio.conf",
			want:  result{Path: "/srv/crio.conf", Runtime: "cri-o"},
		},
		"a file of one's own with --runtime": {
			given: "/srv/my.conf", runtime: "cri-o",
			want: result{Path: "/srv/my.conf", Runtime: "cri-o"},
		},
		"the given file of an installation": {
			given: k3sConfig,
			want:  result{Name: "k3s", Path: k3sConfig, Runtime: "containerd", Known: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got result
			target, err := findTarget(hostWith(test.files...), test.given, test.runtime)
			if err != nil {
				got.Error = err.Error()
			} else {
				got = result{
					Name: target.Who, Path: target.Path, Runtime: target.Runtime,
					Program: target.program, Known: target.known, Others: target.others,
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSplitVersions(t *testing.T) {
	for name, test := range map[string]struct {
		values   []string
		versions []string
		runtime  string
		err      string
	}{
		"bare":             {values: []string{"2.4.2"}, versions: []string{"2.4.2"}},
		"several":          {values: []string{"v1.7.27, 2.4.2", "2.0"}, versions: []string{"v1.7.27", "2.4.2", "2.0"}},
		"as a Node has it": {values: []string{"containerd://1.7.27"}, versions: []string{"containerd://1.7.27"}, runtime: "containerd"},
		"CRI-O":            {values: []string{"cri-o://1.33.0"}, versions: []string{"cri-o://1.33.0"}, runtime: "cri-o"},
		"both":             {values: []string{"cri-o://1.33.0", "containerd://2.0.0"}, err: "--runtime-version names both containerd and CRI-O: one configuration is of one of them"},
		"empty":            {values: []string{"2.4.2,"}, err: `--runtime-version "2.4.2,": empty version`},
		"nonsense":         {values: []string{"latest"}, err: `--runtime-version: version "latest": want one like 2.4.2`},
		"docker":           {values: []string{"docker://27.0.0"}, err: `--runtime-version: runtime "docker": want containerd or cri-o`},
	} {
		t.Run(name, func(t *testing.T) {
			versions, runtime, err := splitVersions(test.values)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff([]any{test.versions, test.runtime, test.err}, []any{versions, runtime, text}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrintableKeepsControlCharactersAway(t *testing.T) {
	if got := printable("a\x1b[31m\n\u009bb\xffä"); got != "a?[31m??b?ä" {
		t.Errorf("%q", got)
	}
}

func TestColoursKeepColumnsAligned(t *testing.T) {
	p := &printer{colour: true}
	p.table("", [][]cell{{{text: "ab", colour: red}, {text: "c"}}, {{text: "ä"}, {text: "d"}}})
	if got, want := p.String(), "\x1b[31mab\x1b[0m  c\nä   d\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestYAMLKeepsOrderAndTypes(t *testing.T) {
	got, err := yamlOf([]byte(`{"b":"1","a":[1,true,"true","",{}],"z":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "b: \"1\"\na:\n  - 1\n  - true\n  - \"true\"\n  - \"\"\n  - {}\nz: []\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// Programs that read the JSON need not tell an empty list from an absent one.
func TestExplanationsHaveNoNulls(t *testing.T) {
	const main = "etc/containerd/config.toml"
	for name, text := range map[string]string{
		"no main file":           "",
		"an empty file":          "\n",
		"a syntax error":         "version = [",
		"imports that match not": "version = 2\nimports = ['/etc/containerd/conf.d/*.toml']\n",
		"the CRI is off":         "version = 2\ndisabled_plugins = ['io.containerd.grpc.v1.cri']\n",
		"a handler of no type":   "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.x]\n",
		"a misplaced handler":    "version = 2\n[plugins.runtimes.x]\nruntime_type = 'io.containerd.x.v1'\n",
	} {
		t.Run(name, func(t *testing.T) {
			m := fstest.MapFS{"etc": {Mode: 0o755 | os.ModeDir}}
			if text != "" {
				m[main] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
			}
			host := hostfs.New(m)
			o := &explainOptions{root: "/host", programs: "auto", bisect: true}
			target := targetAt("/"+main, "")
			var views []*explanation
			for _, version := range []string{"1.7.27", "2.0.14", "2.4.2"} {
				rt, err := config.ParseRuntime(version)
				if err != nil {
					t.Fatal(err)
				}
				v, err := o.explain(host, target, rt)
				if err != nil {
					t.Fatal(err)
				}
				if len(views) > 0 {
					v.Changes = changesBetween(views[len(views)-1], v)
				}
				if v.Daemon.State != string(config.Running) && !v.needsMending() {
					t.Errorf("%s: %s, and no finding", version, v.Daemon.State)
				}
				views = append(views, v)
			}
			for _, form := range []string{"json", "yaml", "table"} {
				var out strings.Builder
				if err := writeExplanations(&out, form, views); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(out.String(), "null") || out.Len() == 0 {
					t.Errorf("%s: %s", form, out.String())
				}
			}
		})
	}
}
