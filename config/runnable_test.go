package config

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

func TestProgramsOfHandlers(t *testing.T) {
	tree := fstest.MapFS{
		"usr/bin/runc":                           {Mode: 0o755},
		"usr/bin/containerd-shim-runc-v2":        {Mode: 0o755},
		"usr/local/bin/containerd-shim-spin-v1":  {Mode: 0o755},
		"opt/containerd/containerd-shim-kata-v2": {Mode: 0o755},
		"opt/kata/shim":                          {Mode: fs.ModeSymlink | 0o777, Data: []byte("/opt/containerd/containerd-shim-kata-v2")},
		"usr/bin/containerd-shim-odd-v1":         {Mode: 0o644},
		"srv/containerd-shim-work-v1":            {Mode: 0o755},
		"usr/bin/nvidia-container-runtime":       {Mode: 0o755},
	}
	l := &loader{fs: hostfs.New(tree), rt: mustRuntime(t, "2.4.2"), opt: Options{WorkDir: "/srv", Binary: "/opt/containerd/containerd"}}
	shims := map[string]struct {
		handler Handler
		want    Program
	}{
		"by name in PATH":          {Handler{RuntimeType: "io.containerd.runc.v2"}, Program{Path: "/usr/bin/containerd-shim-runc-v2", State: Found}},
		"beside containerd":        {Handler{RuntimeType: "io.containerd.kata.v2"}, Program{Path: "/opt/containerd/containerd-shim-kata-v2", State: Found}},
		"in the working folder":    {Handler{RuntimeType: "x.work.v1"}, Program{Path: "/srv/containerd-shim-work-v1", State: Found}},
		"runtime_path wins":        {Handler{RuntimeType: "io.containerd.runc.v2", RuntimePath: "/opt/kata/shim"}, Program{Path: "/opt/kata/shim", State: Found}},
		"an absolute runtime_type": {Handler{RuntimeType: "/opt/kata/shim"}, Program{Path: "/opt/kata/shim", State: Found}},
		"another version is there": {Handler{RuntimeType: "io.containerd.spin.v2"}, Program{Path: "containerd-shim-spin-v2", State: NotFound, NearMiss: "/usr/local/bin/containerd-shim-spin-v1"}},
		"not executable":           {Handler{RuntimeType: "io.containerd.odd.v1"}, Program{Path: "/usr/bin/containerd-shim-odd-v1", State: NotExecutable}},
		"a relative path":          {Handler{RuntimeType: "opt/kata/shim"}, Program{Path: "opt/kata/shim", State: NotFound}},
		"no name at all":           {Handler{RuntimeType: "kata"}, Program{Path: "kata", State: NotFound}},
		"runtime_path is missing":  {Handler{RuntimeType: "io.containerd.runc.v2", RuntimePath: "/opt/none"}, Program{Path: "/opt/none", State: NotFound}},
		"no runtime_type":          {Handler{}, Program{State: Unchecked}},
	}
	for name, test := range shims {
		if diff := cmp.Diff(test.want, l.shim(test.handler)); diff != "" {
			t.Errorf("shim, %s: -want +got:\n%s", name, diff)
		}
	}
	binaries := map[string]struct {
		name string
		want Program
	}{
		"built in":             {"", Program{Path: "/usr/bin/runc", State: Found}},
		"absolute":             {"/usr/bin/nvidia-container-runtime", Program{Path: "/usr/bin/nvidia-container-runtime", State: Found}},
		"looked up":            {"nvidia-container-runtime", Program{Path: "/usr/bin/nvidia-container-runtime", State: Found}},
		"missing":              {"/opt/x", Program{Path: "/opt/x", State: NotFound}},
		"missing, near a name": {"nvidia-container-runtme", Program{Path: "nvidia-container-runtme", State: NotFound, NearMiss: "/usr/bin/nvidia-container-runtime"}},
	}
	for name, test := range binaries {
		got, ok := l.ociRuntime(Handler{RuntimeType: "io.containerd.runc.v2", BinaryName: test.name})
		if diff := cmp.Diff(test.want, got); diff != "" || !ok {
			t.Errorf("runtime, %s: -want +got:\n%s", name, diff)
		}
	}
	if _, ok := l.ociRuntime(Handler{RuntimeType: "io.containerd.kata.v2", BinaryName: "/x"}); ok {
		t.Error("the kata shim reads no BinaryName")
	}
}

// A tree of configuration files only says nothing of programs.
func TestProgramsAreUncheckedWithoutTheHostsPrograms(t *testing.T) {
	r, err := Load(hostileHost(map[string]string{main: "version = 2\n" + nv1}), Options{Runtime: mustRuntime(t, "2.4.2"), Path: main})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Handlers {
		if h.Shim.State != Unchecked || h.Binary.State != Unchecked {
			t.Errorf("handler %q: %+v, %+v", h.Name, h.Shim, h.Binary)
		}
	}
}

func TestParseRuntime(t *testing.T) {
	for text, want := range map[string]string{
		"2.4.2": "containerd 2.4.2", "v1.7.27-k3s1": "containerd 1.7.27-k3s1", "containerd://2.0.5": "containerd 2.0.5",
		"cri-o://1.33.0": "cri-o 1.33.0", "cri-o 1.37.0": "cri-o 1.37.0", "crio@1.30": "cri-o 1.30", "1.6.20~ds1-1+b1": "containerd 1.6.20~ds1-1+b1", "2.1": "containerd 2.1",
	} {
		if rt, err := ParseRuntime(text); err != nil || rt.String() != want {
			t.Errorf("ParseRuntime(%q) = %v, %v; want %s", text, rt, err, want)
		}
	}
	for _, text := range []string{"", "2", "docker://20.10.1", "2.x", "containerd", "99999.1.1"} {
		if rt, err := ParseRuntime(text); err == nil {
			t.Errorf("ParseRuntime(%q) = %v", text, rt)
		}
	}
	classes := map[string]class{
		"1.5.9": classA, "1.6.0": classA, "1.7.99": classA, "2.0.0": classB, "2.2.9": classB, "2.2": classB,
		"2.3.0": classC, "2.3.4": classC, "2.3.5": classD, "2.3": classD, "2.4.0": classD, "3.0.0": classD,
	}
	for text, want := range classes {
		if got := mustRuntime(t, text).class(); got != want {
			t.Errorf("%s is of class %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{"1.6.0": false, "1.6.36": false, "2.4.9": false, "2.5.0": true, "3.1.0": true, "1.5.0": true} {
		if got := mustRuntime(t, text).note() != ""; got != want {
			t.Errorf("%s has a note: %v, want %v", text, got, want)
		}
	}
}

func TestBisect(t *testing.T) {
	host := hostOf(t, "testdata/truth/cases/a-v2-nvidia-then-registry", truthDir)
	opt := Options{Runtime: mustRuntime(t, "1.7.27"), Path: truthDir + "/config.toml"}
	r, err := Load(host, opt)
	if err != nil {
		t.Fatal(err)
	}
	variants, err := Bisect(host, opt, r)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range variants {
		got = append(got, v.Name+": "+string(v.State)+" "+strings.Join(v.Handlers, ","))
	}
	want := []string{
		"all: Running runc",
		"main only: Running runc",
		"only 99-nvidia.toml: CRIOff nvidia,nvidia-cdi,nvidia-legacy",
		"only zz-registry.toml: Running runc",
		"without 99-nvidia.toml: Running runc",
		"without zz-registry.toml: CRIOff nvidia,nvidia-cdi,nvidia-legacy",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWithoutADropIn(t *testing.T) {
	host := hostOf(t, "testdata/truth/cases/a-v2-nvidia-then-registry", truthDir)
	for _, name := range []string{"zz-registry.toml", truthDir + "/conf.d/zz-registry.toml"} {
		r, err := Load(host, Options{Runtime: mustRuntime(t, "2.4.2"), Path: truthDir + "/config.toml", Without: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Files) != 2 {
			t.Errorf("without %s: %d files", name, len(r.Files))
		}
	}
}
