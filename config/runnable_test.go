package config

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// programs makes a host: "x /path" is a program, "- /path" a file without an
// execute bit, "l /path target" a link, "d /path" a folder.
func programs(lines ...string) *hostfs.FS {
	m := fstest.MapFS{}
	for _, line := range lines {
		f := strings.Fields(line)
		file := &fstest.MapFile{Mode: 0o644}
		switch f[0] {
		case "x":
			file.Mode = 0o755
		case "l":
			file = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(f[2])}
		case "d":
			file.Mode = fs.ModeDir | 0o755
		}
		m[strings.TrimPrefix(f[1], "/")] = file
	}
	return hostfs.New(m)
}

func found(p string) *Program { return &Program{Path: p, State: Found} }

func TestProbe(t *testing.T) {
	node := []string{"x /usr/bin/containerd", "x /usr/bin/containerd-shim-runc-v2", "x /usr/sbin/runc"}
	notInPATH := "it is not in PATH (/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)"
	nowhere := "it is neither in the working folder /, nor in PATH (/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin), nor beside containerd in /usr/bin"
	for name, test := range map[string]struct {
		runtime string
		host    []string
		opt     Options
		handler Handler
		want    Runnability
	}{
		"the shim of a type is found in PATH, and the default runc": {
			host: node, handler: Handler{RuntimeType: runcV2},
			want: Runnability{found("/usr/bin/containerd-shim-runc-v2"), found("/usr/sbin/runc")},
		},
		"the working folder is before PATH": {
			host: append(node, "x /srv/containerd-shim-runc-v2"), opt: Options{WorkDir: "/srv"}, handler: Handler{RuntimeType: runcV2},
			want: Runnability{found("/srv/containerd-shim-runc-v2"), found("/usr/sbin/runc")},
		},
		"in the working folder any file is taken, as containerd asks only whether it is there": {
			host: append(node, "- /containerd-shim-runc-v2"), handler: Handler{RuntimeType: runcV2},
			want: Runnability{
				&Program{Path: "/containerd-shim-runc-v2", State: NotExecutable, Reason: "the file has no execute permission"},
				found("/usr/sbin/runc"),
			},
		},
		"beside containerd is after PATH": {
			host: append(node, "x /opt/ctd/containerd-shim-kata-v2"), opt: Options{Binary: "/opt/ctd/containerd"},
			handler: Handler{RuntimeType: "io.containerd.kata.v2"},
			want:    Runnability{Shim: found("/opt/ctd/containerd-shim-kata-v2")},
		},
		"a file without execute bit in PATH is passed over for a later one": {
			host:    append(node, "- /usr/local/bin/runc"),
			handler: Handler{RuntimeType: runcV2},
			want:    Runnability{found("/usr/bin/containerd-shim-runc-v2"), found("/usr/sbin/runc")},
		},
		"a file without execute bit is named when there is no other": {
			host:    append(node, "- /usr/local/bin/crun"),
			handler: Handler{RuntimeType: runcV2, BinaryName: "crun"},
			want: Runnability{
				found("/usr/bin/containerd-shim-runc-v2"),
				&Program{Path: "/usr/local/bin/crun", State: NotExecutable, Reason: "the file has no execute permission"},
			},
		},
		"runtime_path wins over the type, and a shim of another kind calls no binary": {
			host: append(node, "x /opt/kata/bin/shim"), handler: Handler{RuntimeType: runcV2, RuntimePath: "/opt/kata/bin/shim", BinaryName: "/nope"},
			want: Runnability{Shim: found("/opt/kata/bin/shim")},
		},
		"runtime_path to a runc shim still calls the binary": {
			host: append(node, "x /opt/bin/containerd-shim-runc-v2"), handler: Handler{RuntimeType: runcV2, RuntimePath: "/opt/bin/containerd-shim-runc-v2"},
			want: Runnability{found("/opt/bin/containerd-shim-runc-v2"), found("/usr/sbin/runc")},
		},
		"an absolute runtime_type is the path; links are followed": {
			host: append(node, "x /opt/k/real", "l /usr/local/bin/shim ../../../opt/k/real"), handler: Handler{RuntimeType: "/usr/local/bin/shim"},
			want: Runnability{Shim: found("/usr/local/bin/shim")},
		},
		"a link that leads nowhere is not there": {
			host: append(node, "l /usr/local/bin/shim /opt/gone"), handler: Handler{RuntimeType: "/usr/local/bin/shim"},
			want: Runnability{Shim: &Program{Path: "/usr/local/bin/shim", State: NotFound, Reason: "no such file"}},
		},
		"a folder can't be executed": {
			host: append(node, "d /opt/shim"), handler: Handler{RuntimeType: "/opt/shim"},
			want: Runnability{Shim: &Program{Path: "/opt/shim", State: NotExecutable, Reason: "is a directory"}},
		},
		"the same shim in another version is a near miss": {
			host: append(node, "x /opt/bin/containerd-shim-spin-v1", "x /usr/bin/containerd-shim-spun-v2"), handler: Handler{RuntimeType: "io.containerd.spin.v2"},
			want: Runnability{Shim: &Program{
				Path: "containerd-shim-spin-v2", State: NotFound, Reason: nowhere,
				Near: []string{"/opt/bin/containerd-shim-spin-v1", "/usr/bin/containerd-shim-spun-v2"},
			}},
		},
		"a near miss beside the path that is asked for": {
			host: append(node, "x /usr/local/sbin/containerd-shim-runsc-v2"), handler: Handler{RuntimeType: "io.containerd.runsc.v1", RuntimePath: "/usr/local/sbin/containerd-shim-runsc-v1"},
			want: Runnability{Shim: &Program{
				Path: "/usr/local/sbin/containerd-shim-runsc-v1", State: NotFound, Reason: "no such file",
				Near: []string{"/usr/local/sbin/containerd-shim-runsc-v2"},
			}},
		},
		"a binary that is elsewhere; its hook is not a near miss, nor is runsc of runc": {
			host:    append(node, "x /usr/local/nvidia/toolkit/nvidia-container-runtime", "x /usr/bin/nvidia-container-runtime-hook"),
			handler: Handler{RuntimeType: runcV2, BinaryName: "/usr/bin/nvidia-container-runtime"},
			want: Runnability{found("/usr/bin/containerd-shim-runc-v2"), &Program{
				Path: "/usr/bin/nvidia-container-runtime", State: NotFound, Reason: "no such file",
				Near: []string{"/usr/local/nvidia/toolkit/nvidia-container-runtime"},
			}},
		},
		"a binary in no folder of PATH": {
			host: append(node, "x /usr/bin/runsc"), handler: Handler{RuntimeType: runcV2, BinaryName: "crun"},
			want: Runnability{found("/usr/bin/containerd-shim-runc-v2"), &Program{Path: "crun", State: NotFound, Reason: notInPATH}},
		},
		"a relative path is none of PATH": {
			host: node, handler: Handler{RuntimeType: "bin/shim", BinaryName: "bin/runc"},
			want: Runnability{Shim: &Program{Path: "bin/shim", State: NotFound, Reason: "runtime_type is neither an absolute path nor a name like io.containerd.runc.v2"}},
		},
		"a type without a dot": {
			host: node, handler: Handler{RuntimeType: "runc"},
			want: Runnability{Shim: &Program{Path: "runc", State: NotFound, Reason: "runtime_type is not a name like io.containerd.runc.v2"}},
		},
		"no type: nothing is looked for": {
			host: node, handler: Handler{},
			want: Runnability{Shim: &Program{State: Unchecked, Reason: "runtime_type is empty"}},
		},
		"a tree of configuration files proves nothing absent": {
			host: []string{"- /etc/containerd/config.toml"}, handler: Handler{RuntimeType: runcV2, BinaryName: "/usr/bin/nvidia-container-runtime"},
			want: Runnability{
				&Program{Path: "containerd-shim-runc-v2", State: Unchecked},
				&Program{Path: "/usr/bin/nvidia-container-runtime", State: Unchecked},
			},
		},
		"the programs of another host say nothing": {
			host: append(node, "- /opt/runc"), opt: Options{NoPrograms: true}, handler: Handler{RuntimeType: runcV2, BinaryName: "/opt/runc"},
			want: Runnability{&Program{Path: "containerd-shim-runc-v2", State: Unchecked}, &Program{Path: "/opt/runc", State: Unchecked}},
		},
		"CRI-O: the handler's name in PATH": {
			runtime: "cri-o 1.33.0", host: append(node, "x /usr/bin/crun"), handler: Handler{Name: "crun", RuntimeType: "oci"},
			want: Runnability{Binary: found("/usr/bin/crun")},
		},
		"CRI-O: runtime_path": {
			runtime: "cri-o 1.33.0", host: node, handler: Handler{Name: "gone", RuntimePath: "/usr/bin/gone"},
			want: Runnability{Binary: &Program{Path: "/usr/bin/gone", State: NotFound, Reason: "no such file"}},
		},
		"CRI-O: a vm handler has a shim": {
			runtime: "cri-o 1.33.0", host: append(node, "x /opt/kata/bin/containerd-shim-kata-v2"),
			handler: Handler{Name: "kata", RuntimeType: "vm", RuntimePath: "/opt/kata/bin/containerd-shim-kata-v2"},
			want:    Runnability{Shim: found("/opt/kata/bin/containerd-shim-kata-v2")},
		},
		"CRI-O: a vm handler with a program of another name": {
			runtime: "cri-o 1.33.0", host: append(node, "x /opt/kata/bin/kata-runtime"),
			handler: Handler{Name: "kata", RuntimeType: "vm", RuntimePath: "/opt/kata/bin/kata-runtime"},
			want: Runnability{Shim: &Program{Path: "/opt/kata/bin/kata-runtime", State: NotFound,
				Reason: "CRI-O drops a vm handler whose program is not named containerd-shim-*"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.runtime == "" {
				test.runtime = "2.4.2"
			}
			test.opt.Runtime = mustRuntime(t, test.runtime)
			got := NewProber(programs(test.host...), test.opt).Probe(test.handler)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRunnabilityFindings(t *testing.T) {
	p := NewProber(programs("x /usr/bin/containerd-shim-runc-v2", "- /opt/crun", "x /usr/bin/containerd-shim-spin-v1"), Options{Runtime: mustRuntime(t, "2.4.2")})
	for name, test := range map[string]struct {
		handler   Handler
		isDefault bool
		want      []string
	}{
		"all is there": {handler: Handler{Name: "a", RuntimeType: runcV2, BinaryName: "/usr/bin/containerd-shim-runc-v2"}},
		"a shim is missing, with a near miss": {
			handler: Handler{Name: "spin", RuntimeType: "io.containerd.spin.v2"},
			want: []string{`ShimNotFound Warning handler "spin": shim containerd-shim-spin-v2 is not there: it is neither in the working folder /, nor in PATH ` +
				`(/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin), nor beside containerd in /usr/bin; /usr/bin/containerd-shim-spin-v1 is there | ` +
				`correct runtime_type or runtime_path, if /usr/bin/containerd-shim-spin-v1 is what was meant; else install containerd-shim-spin-v2`},
		},
		"the default handler's binary can't be executed": {
			handler: Handler{Name: "crun", RuntimeType: runcV2, BinaryName: "/opt/crun"}, isDefault: true,
			want: []string{`BinaryNotExecutable Error handler "crun": OCI runtime /opt/crun can't be executed: the file has no execute permission; ` +
				`it is the default handler: every Pod without a RuntimeClass fails on this node | chmod 0755 /opt/crun, if it is the program`},
		},
		"a handler with no type is another finding's": {handler: Handler{Name: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range p.Probe(test.handler).Findings(test.handler, test.isDefault) {
				got = append(got, f.Code+" "+string(f.Severity)+" "+f.Message+" | "+f.Fix)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
