package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

const runcV2 = "io.containerd.runc.v2"

// filesOf is what containerd 2.4.2 would load from a configuration, by name of
// file below /etc/containerd.
func filesOf(t *testing.T, files map[string]string) *config.Result {
	t.Helper()
	host := fstest.MapFS{}
	for name, content := range files {
		host["etc/containerd/"+name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	rt, err := config.ParseRuntime("2.4.2")
	if err != nil {
		t.Fatal(err)
	}
	r, err := config.Load(hostfs.New(host), config.Options{Runtime: rt, Path: config.DefaultConfigPath, NoPrograms: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// table is a handler's table in a version 3 file, with its type.
func table(name string) string {
	return fmt.Sprintf("[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.%q]\nruntime_type = %q\n", name, runcV2)
}

// loadedWith is the answer of a containerd with these handlers.
func loadedWith(handlers ...string) *config.Status {
	s := &config.Status{RuntimeName: "containerd", RuntimeVersion: "v2.4.2"}
	for _, name := range handlers {
		s.Handlers = append(s.Handlers, config.Handler{Name: name, RuntimeType: runcV2})
	}
	s.Sort()
	s.DefaultHandler = "runc"
	return s
}

// withSettings is a status that tells what else is set of the handlers.
func withSettings(s *config.Status, handler, key, value string) *config.Status {
	s.Settings = map[string]map[string]string{}
	for _, h := range s.Handlers {
		s.Settings[h.Name] = map[string]string{}
	}
	s.Settings[handler][key] = value
	return s
}

// withBinary gives a handler of an answer an OCI runtime.
func withBinary(s *config.Status, name, binary string) *config.Status {
	for i := range s.Handlers {
		if s.Handlers[i].Name == name {
			s.Handlers[i].BinaryName = binary
		}
	}
	return s
}

func TestFromStatusFindings(t *testing.T) {
	const root = "version = 3\nimports = [\"conf.d/*.toml\"]\n"
	missing := config.Runnability{
		Shim:   &config.Program{Path: "/usr/bin/containerd-shim-runc-v2", State: config.Found},
		Binary: &config.Program{Path: "/usr/bin/nvidia-container-runtime", State: config.NotFound, Reason: "no such file"},
	}
	for name, tt := range map[string]struct {
		loaded   *config.Status
		files    map[string]string // nil: can't be read
		programs map[string]config.Runnability
		want     []string
		next     *v1alpha1.Next
	}{
		"all is well": {
			loaded: loadedWith("nvidia", "runc"),
			files:  map[string]string{"config.toml": root, "conf.d/nvidia.toml": "version = 3\n" + table("nvidia")},
			next:   &v1alpha1.Next{Handlers: []string{"nvidia", "runc"}, DefaultHandler: "runc"},
		},
		"a drop-in waits for a restart": {
			loaded: loadedWith("runc"),
			files:  map[string]string{"config.toml": root, "conf.d/nvidia.toml": "version = 3\n" + table("nvidia")},
			want:   []string{`RestartPending Warning /etc/containerd/conf.d/nvidia.toml:2 nvidia: handler "nvidia" is defined, but containerd has not loaded it: restart containerd`},
			next:   &v1alpha1.Next{Handlers: []string{"nvidia", "runc"}, DefaultHandler: "runc"},
		},
		"the drop-in is gone": {
			loaded: loadedWith("nvidia", "runc"),
			files:  map[string]string{"config.toml": root},
			want:   []string{`Expiring Error :0 nvidia: handler "nvidia" is loaded, but the next restart of containerd takes it away: no file defines it any more; write it again`},
			next:   &v1alpha1.Next{Handlers: []string{"runc"}, DefaultHandler: "runc"},
		},
		"the files break a handler": {
			loaded: loadedWith("kata", "runc"),
			files:  map[string]string{"config.toml": root + strings.ReplaceAll(table("kata"), "runtime_type", "runtime_tipe")},
			want: []string{
				`Expiring Error /etc/containerd/config.toml:3 kata: handler "kata" is loaded with runtime_type "io.containerd.runc.v2", but after the next restart of containerd none of its Pods can start: its files no longer give it a runtime_type; mend the files before the node reboots`,
				`RuntimeTypeEmpty Warning /etc/containerd/config.toml:3 kata: handler "kata" has no runtime_type`,
				`UnknownKey Warning /etc/containerd/config.toml:4 kata: handler "kata": containerd 2.4.2 knows no key runtime_tipe`,
			},
			next: &v1alpha1.Next{Handlers: []string{"kata", "runc"}, DefaultHandler: "runc"},
		},
		"the files say something else of a handler": {
			loaded: loadedWith("kata", "runc"),
			files:  map[string]string{"config.toml": root + strings.ReplaceAll(table("kata"), runcV2, "io.containerd.kata.v2")},
			want:   []string{`RestartPending Warning /etc/containerd/config.toml:3 kata: handler "kata" is loaded with runtime_type "io.containerd.runc.v2", its files now say runtime_type "io.containerd.kata.v2": restart containerd`},
			next:   &v1alpha1.Next{Handlers: []string{"kata", "runc"}, DefaultHandler: "runc"},
		},
		"the files say something else of an option": {
			loaded: withSettings(loadedWith("kata", "nvidia", "runc"), "nvidia", "privileged_without_host_devices", "true"),
			files:  map[string]string{"config.toml": root + table("nvidia") + "options = {SystemdCgroup = true, Root = '', IoUid = 0}\n" + table("kata") + "privileged_without_host_devices = false\n"},
			want:   []string{`RestartPending Warning /etc/containerd/config.toml:3 nvidia: handler "nvidia" is loaded with no options.SystemdCgroup and privileged_without_host_devices = true, its files now say options.SystemdCgroup = true and no privileged_without_host_devices: restart containerd`},
			next:   &v1alpha1.Next{Handlers: []string{"kata", "nvidia", "runc"}, DefaultHandler: "runc"},
		},
		"a table in the wrong place would have said what is loaded": {
			loaded: withBinary(loadedWith("nvidia", "runc"), "nvidia", "/usr/bin/nvidia-container-runtime"),
			files: map[string]string{
				"config.toml":        root + table("nvidia"),
				"conf.d/nvidia.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.runtimes.nvidia]\nruntime_type = 'io.containerd.runc.v2'\noptions.BinaryName = '/usr/bin/nvidia-container-runtime'\n",
			},
			want: []string{
				`RestartPending Warning /etc/containerd/config.toml:3 nvidia: handler "nvidia" is loaded with runtime_type "io.containerd.runc.v2" and BinaryName "/usr/bin/nvidia-container-runtime", its files now say runtime_type "io.containerd.runc.v2": first see the finding WrongParentTable of it, then restart containerd`,
				`WrongParentTable Warning /etc/containerd/conf.d/nvidia.toml:2 nvidia: a table of handler "nvidia" is ignored: [plugins."io.containerd.cri.v1.runtime".runtimes.nvidia] is no place for a handler`,
			},
			next: &v1alpha1.Next{Handlers: []string{"nvidia", "runc"}, DefaultHandler: "runc"},
		},
		"a handler runs without its options, which stand in the wrong place": {
			loaded: loadedWith("nvidia", "runc"),
			files: map[string]string{
				"config.toml":        root,
				"conf.d/nvidia.toml": "version = 3\n" + table("nvidia") + "[plugins.'io.containerd.cri.v1.runtime'.runtimes.nvidia.options]\nBinaryName = '/usr/bin/nvidia-container-runtime'\n",
			},
			want: []string{`WrongParentTable Warning /etc/containerd/conf.d/nvidia.toml:4 nvidia: a part of handler "nvidia" is ignored: [plugins."io.containerd.cri.v1.runtime".runtimes.nvidia.options] is no place`},
			next: &v1alpha1.Next{Handlers: []string{"nvidia", "runc"}, DefaultHandler: "runc"},
		},
		"a restart that one handler needs would take another": {
			loaded: loadedWith("nvidia", "runc"),
			files:  map[string]string{"config.toml": root + table("kata")},
			want: []string{
				`Expiring Error :0 nvidia: handler "nvidia" is loaded, but the next restart of containerd takes it away: no file defines it any more`,
				`RestartPending Warning /etc/containerd/config.toml:3 kata: handler "kata" is defined, but containerd has not loaded it: first mend what is Expiring, then restart containerd`,
			},
			next: &v1alpha1.Next{Handlers: []string{"kata", "runc"}, DefaultHandler: "runc"},
		},
		"a table in the wrong place that another stands in for": {
			loaded: loadedWith("nvidia", "runc"),
			files: map[string]string{
				"config.toml":        root + table("nvidia"),
				"conf.d/nvidia.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.runtimes.nvidia]\nruntime_type = 'io.containerd.runc.v2'\n",
			},
			next: &v1alpha1.Next{Handlers: []string{"nvidia", "runc"}, DefaultHandler: "runc"},
		},
		"the same, and another handler waits for a restart": {
			loaded: loadedWith("nvidia", "runc"),
			files: map[string]string{
				"config.toml":        root + table("nvidia") + table("kata"),
				"conf.d/nvidia.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.runtimes.nvidia]\nruntime_type = 'io.containerd.runc.v2'\n",
			},
			want: []string{`RestartPending Warning /etc/containerd/config.toml:5 kata: handler "kata" is defined, but containerd has not loaded it: restart containerd`},
			next: &v1alpha1.Next{Handlers: []string{"kata", "nvidia", "runc"}, DefaultHandler: "runc"},
		},
		"the default changes": {
			loaded: loadedWith("nvidia", "runc"),
			files:  map[string]string{"config.toml": root + "[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = 'nvidia'\n" + table("nvidia")},
			want:   []string{`RestartPending Warning :0 nvidia: the next restart of containerd makes "nvidia" the default handler in place of "runc"`},
			next:   &v1alpha1.Next{Handlers: []string{"nvidia", "runc"}, DefaultHandler: "nvidia"},
		},
		"the next start fails: one finding for all": {
			loaded: loadedWith("nvidia", "runc"),
			files:  map[string]string{"config.toml": root, "conf.d/x.toml": "version = \n"},
			want:   []string{`DaemonWillNotStart Error /etc/containerd/conf.d/x.toml:1 : containerd 2.4.2 will not start: `},
			next:   &v1alpha1.Next{Handlers: []string{}},
		},
		"the next start serves no Pods": {
			loaded: loadedWith("runc"),
			files:  map[string]string{"config.toml": root + "disabled_plugins = ['io.containerd.cri.v1.runtime']\n"},
			want:   []string{"CRIDisabled Error /etc/containerd/config.toml:3 : containerd 2.4.2 would start but serve no Pods: "},
			next:   &v1alpha1.Next{Handlers: []string{}},
		},
		"a program is missing": {
			loaded:   loadedWith("nvidia", "runc"),
			files:    map[string]string{"config.toml": root + table("nvidia")},
			programs: map[string]config.Runnability{"nvidia": missing},
			want:     []string{`Broken Warning /etc/containerd/config.toml:3 nvidia: handler "nvidia": OCI runtime /usr/bin/nvidia-container-runtime is not there: no such file; install `},
			next:     &v1alpha1.Next{Handlers: []string{"nvidia", "runc"}, DefaultHandler: "runc"},
		},
		"a program that the runtime has run is somewhere": {
			loaded: func() *config.Status {
				s := loadedWith("kata", "runc")
				s.Features = map[string]config.HandlerFeatures{"kata": {}}
				return s
			}(),
			files: map[string]string{"config.toml": root + table("kata")},
			programs: map[string]config.Runnability{
				"kata": {Binary: &config.Program{Path: "runc", State: config.NotFound, Reason: "it is not in PATH"}},
			},
			next: &v1alpha1.Next{Handlers: []string{"kata", "runc"}, DefaultHandler: "runc"},
		},
		"the default's program is missing, and the files can't be read": {
			loaded:   loadedWith("runc"),
			programs: map[string]config.Runnability{"runc": missing},
			want: []string{
				`DefaultBroken Error :0 runc: handler "runc": OCI runtime /usr/bin/nvidia-container-runtime is not there: no such file; it is the default handler: every Pod`,
				"NextUnknown Warning :0 : what the next start of the runtime loads is not known: because",
			},
		},
		"a default that is not loaded": {
			loaded: func() *config.Status { s := loadedWith("a"); s.DefaultHandler = "b"; return s }(),
			want:   []string{`DefaultBroken Error :0 b: the default handler "b" is not loaded: every Pod`, "NextUnknown "},
		},
		"a handler without type can start nothing, and is reported once": {
			loaded: func() *config.Status { s := loadedWith("a", "runc"); s.Handlers[0].RuntimeType = ""; return s }(),
			files:  map[string]string{"config.toml": root + strings.Replace(table("a"), runcV2, "", 1)},
			want:   []string{`Broken Warning /etc/containerd/config.toml:3 a: handler "a" has no runtime_type: none of its Pods can start; set runtime_type`},
			next:   &v1alpha1.Next{Handlers: []string{"a", "runc"}, DefaultHandler: "runc"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Observation{Endpoint: "unix:///run/c.sock", Loaded: tt.loaded, Programs: tt.programs, NextUnknown: "because", At: now}
			if tt.files != nil {
				o.Next = filesOf(t, tt.files)
			}
			got, err := FromStatus(o, "n")
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, f := range got.Spec.Findings {
				found = append(found, fmt.Sprintf("%s %s %s:%d %s: %s", f.Code, f.Severity, f.File, f.Line, f.Handler, f.Message))
			}
			if !slices.EqualFunc(found, tt.want, strings.HasPrefix) {
				t.Errorf("findings (-want +got):\n%s", cmp.Diff(tt.want, found))
			}
			if diff := cmp.Diff(tt.next, got.Spec.Next); diff != "" {
				t.Errorf("next (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromStatusFields(t *testing.T) {
	on := true
	loaded := loadedWith("nvidia", "runc")
	loaded.CDI = &on
	loaded.Features = map[string]config.HandlerFeatures{"runc": {UserNamespaces: true}}
	o := &Observation{
		Endpoint: "unix:///run/c.sock", Loaded: loaded, StartedAt: now.Add(-time.Hour), At: now,
		Programs: map[string]config.Runnability{"runc": {Shim: &config.Program{Path: "/s", State: config.Found}, Binary: &config.Program{Path: "/b", State: config.NotExecutable}}},
		Next:     filesOf(t, map[string]string{"config.toml": "version = 3\n" + table("nvidia")}),
	}
	got, err := FromStatus(o, "n")
	if err != nil {
		t.Fatal(err)
	}
	spec := got.Spec
	if spec.Runtime.Name != "containerd" || spec.Runtime.Version != "v2.4.2" || spec.Runtime.Endpoint != "unix:///run/c.sock" || !spec.Runtime.StartedAt.Time.Equal(now.Add(-time.Hour)) {
		t.Errorf("runtime %+v", spec.Runtime)
	}
	if spec.Source != v1alpha1.SourceCRI || spec.CDI == nil || !spec.CDI.Enabled || spec.DefaultHandler != "runc" || !spec.ObservedAt.Time.Equal(now) {
		t.Errorf("spec %+v", spec)
	}
	want := []v1alpha1.Handler{
		{Name: "nvidia", RuntimeType: runcV2, Origin: "/etc/containerd/config.toml:2"},
		{
			Name: "runc", RuntimeType: runcV2, Features: &v1alpha1.Features{UserNamespaces: true},
			Shim: &v1alpha1.Program{Path: "/s", State: v1alpha1.ProgramFound}, Binary: &v1alpha1.Program{Path: "/b", State: v1alpha1.ProgramNotExecutable},
		},
	}
	if diff := cmp.Diff(want, spec.Handlers); diff != "" {
		t.Errorf("handlers (-want +got):\n%s", diff)
	}
	if want := (v1alpha1.Summary{Runtime: "containerd v2.4.2", Handlers: "nvidia, runc", Findings: "DefaultBroken"}); *spec.Summary != want {
		t.Errorf("summary %+v", *spec.Summary)
	}
}

// TestFromStatusBounds: whatever a runtime and its files say, the API server
// takes the object.
func TestFromStatusBounds(t *testing.T) {
	long := strings.Repeat("x", 300)
	loaded := loadedWith("runc", "a b", "line\nbreak", long, "\xff")
	files := "version = 3\n" + table("x\\ny") + table(long)
	for i := range 2 * v1alpha1.MaxFindings {
		name := fmt.Sprintf("h%03d", i)
		if i < v1alpha1.MaxFindings {
			loaded.Handlers = append(loaded.Handlers, config.Handler{Name: name, RuntimeType: runcV2})
		} else {
			files += table(name)
		}
	}
	loaded.Sort()
	got, err := FromStatus(&Observation{Loaded: loaded, Next: filesOf(t, map[string]string{"config.toml": files}), At: now}, "n")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Spec.Findings); n != v1alpha1.MaxFindings {
		t.Errorf("%d findings", n)
	}
	for _, f := range got.Spec.Findings {
		// 64 handlers and "a b" expire; that comes before what waits for a restart.
		if f.Code != v1alpha1.FindingExpiring || len(validation.IsValidLabelValue(f.Code)) > 0 || strings.ContainsAny(f.Message, "\n\r") {
			t.Errorf("finding %+v", f)
		}
	}
	for _, h := range got.Spec.Handlers {
		if !nameable(h.Name) {
			t.Errorf("handler %q", h.Name)
		}
	}

	for i := range v1alpha1.MaxHandlers {
		loaded.Handlers = append(loaded.Handlers, config.Handler{Name: fmt.Sprint("z", i), RuntimeType: runcV2})
	}
	got, err = FromStatus(&Observation{Loaded: loaded, At: now}, "n")
	if err != nil {
		t.Fatal(err)
	}
	if f := got.Spec.Findings[0]; len(got.Spec.Handlers) > 0 || f.Code != v1alpha1.FindingTooManyHandlers || !strings.Contains(f.Message, "a NodeRuntime holds 128") {
		t.Errorf("too many handlers: %d are listed, finding %+v", len(got.Spec.Handlers), f)
	}
	if _, err := FromStatus(&Observation{Loaded: loadedWith(), At: now}, "n"); err == nil || !strings.Contains(err.Error(), "has loaded no handler") {
		t.Errorf("no handler: error %v", err)
	}
}

func TestOrigin(t *testing.T) {
	at := func(fates ...config.Fate) (origins []config.Origin) {
		for i, fate := range fates {
			origins = append(origins, config.Origin{File: "f", Line: i + 1, Fate: fate})
		}
		return origins
	}
	for name, tt := range map[string]struct {
		fate    config.Fate
		origins []config.Origin
		line    int // 0: none
	}{
		"the last that gives it":                   {config.Merged, at(config.Merged, config.Merged, config.Ignored), 2},
		"one that gives it, before one overridden": {config.Loaded, at(config.Loaded, config.Overridden), 1},
		"lost: where it was":                       {config.Lost, at(config.Overridden, config.Lost, config.Ignored), 2},
		"built in, all places overridden":          {config.Loaded, at(config.Overridden, config.Overridden), 0},
		"built in, nowhere defined":                {config.Loaded, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := origin(&config.HandlerReport{Fate: tt.fate, Origins: tt.origins}); got.Line != tt.line {
				t.Errorf("got line %d, want %d", got.Line, tt.line)
			}
		})
	}
}
