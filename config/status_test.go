package config

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The handlers with which the answers in testdata/status were taken.
var statusHandlers = []Handler{
	{Name: "badtype", RuntimeType: "runc"},
	{Name: "crun", RuntimeType: "io.containerd.runc.v2", BinaryName: "/run/t"},
	{Name: "kata", RuntimeType: "io.containerd.kata.v2"},
	{Name: "late", RuntimeType: "io.containerd.runc.v2"},
	{Name: "notype"},
	{Name: "nvidia", RuntimeType: "io.containerd.runc.v2", BinaryName: "/usr/bin/nvidia-container-runtime"},
	{Name: "runc", RuntimeType: "io.containerd.runc.v2", BinaryName: "/run/tc"},
	{Name: "runsc", RuntimeType: "io.containerd.runsc.v1", RuntimePath: "/opt/none/containerd-shim-runsc-v1"},
}

// without returns the handlers but one.
func without(name string) []Handler {
	var rest []Handler
	for _, h := range statusHandlers {
		if h.Name != name {
			rest = append(rest, h)
		}
	}
	return rest
}

// TestReadStatusOfRealContainerd reads the answers of running daemons: before a
// drop-in was written, after it, and after a restart, which made it the default
// on 2.x.
func TestReadStatusOfRealContainerd(t *testing.T) {
	files, err := filepath.Glob("testdata/status/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s, err := ReadStatus(f, file)
			if err != nil {
				t.Fatal(err)
			}
			old := strings.HasPrefix(filepath.Base(file), "1.7.")
			want, dflt := without("late"), "runc"
			if strings.Contains(file, ".restarted.") {
				want = statusHandlers
				if !old {
					dflt = "late"
				}
			}
			if diff := cmp.Diff(want, s.Handlers); diff != "" {
				t.Errorf("handlers (-want +got):\n%s", diff)
			}
			if s.DefaultHandler != dflt {
				t.Errorf("default handler %q, want %q", s.DefaultHandler, dflt)
			}
			if s.RuntimeName != "containerd" || s.CDI == nil || !*s.CDI {
				t.Errorf("runtime %s %s, CDI %v", s.RuntimeName, s.RuntimeVersion, s.CDI)
			}
			if _, told := s.Features["runc"]; told == old {
				t.Errorf("features %v", s.Features)
			}
			if _, ok := s.Features[""]; ok {
				t.Error("the nameless entry is taken for a handler")
			}
		})
	}
	t.Logf("%d answers of real containerd read", len(files))
}

type statusForm struct {
	text string
	want Status
}

// containerdStatusForms are the forms in which containerd's answer comes.
func containerdStatusForms(t *testing.T) map[string]statusForm {
	t.Helper()
	on, off := true, false
	containerd := `{"containerd":{"defaultRuntimeName":"runc","runtimes":{"runc":{"runtimeType":"io.containerd.runc.v2","options":{"BinaryName":"/b"}}}}%s}`
	quoted := func(cdi string) string {
		text, err := json.Marshal(strings.Replace(containerd, "%s", cdi, 1))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	runc := []Handler{{Name: "runc", RuntimeType: "io.containerd.runc.v2", BinaryName: "/b"}}
	both := map[string]HandlerFeatures{"runc": {RecursiveReadOnlyMounts: true, UserNamespaces: true}}
	none := map[string]HandlerFeatures{}
	return map[string]statusForm{
		"containerd 1.6 knows no CDI": {
			`{"status": {"conditions": []}, "info": {"config": ` + quoted("") + `}}`,
			Status{CRI: CRI{Handlers: runc, DefaultHandler: "runc", CDI: &off}, RuntimeName: "containerd", Features: none},
		},
		"containerd 1.7 with CDI off": {
			`{"status": {"conditions": []}, "info": {"config": ` + quoted(`,"enableCDI":false,"cdiSpecDirs":["/etc/cdi"]`) + `}}`,
			Status{CRI: CRI{Handlers: runc, DefaultHandler: "runc", CDI: &off}, RuntimeName: "containerd", Features: none},
		},
		"as crictl info prints it": {
			`{"status": {"conditions": []}, "config": ` + strings.Replace(containerd, "%s", `,"cdiSpecDirs":["/etc/cdi"]`, 1) + `, "runtimeHandlers": [{"name": "runc", "features": {"recursiveReadOnlyMounts": true, "userNamespaces": true}}, {}]}`,
			Status{CRI: CRI{Handlers: runc, DefaultHandler: "runc", CDI: &on}, RuntimeName: "containerd", Features: both},
		},
		"as Go writes it, beside the version": {
			`{"version": {"runtime_name": "containerd", "runtime_version": "2.1.0"}, "status": {"status": {"conditions": []}, "info": {"config": ` + quoted(`,"enableCDI":true`) + `}, "runtime_handlers": [{"name": "runc", "features": {"recursive_read_only_mounts": true, "user_namespaces": true}}]}}`,
			Status{CRI: CRI{Handlers: runc, DefaultHandler: "runc", CDI: &on, Settings: map[string]map[string]string{"runc": {}}}, RuntimeName: "containerd", RuntimeVersion: "2.1.0", Features: both},
		},
		"lists that disagree": {
			`{"status": {"conditions": []}, "info": {"config": ` + quoted("") + `}, "runtimeHandlers": [{"name": "kata", "features": {}}, {"name": "crun"}]}`,
			Status{CRI: CRI{Handlers: []Handler{{Name: "crun"}, {Name: "kata"}}, DefaultHandler: "runc", CDI: &off}, RuntimeName: "containerd",
				Features: map[string]HandlerFeatures{"kata": {}},
				Notes: []string{
					`handler "kata" is in runtime_handlers, but not in the runtime's configuration`,
					`handler "crun" is in runtime_handlers, but not in the runtime's configuration`,
					`handler "runc" is in the runtime's configuration, but not in runtime_handlers`,
					`handler "crun" has an empty runtime type: no sandbox of it can start`,
					`handler "kata" has an empty runtime type: no sandbox of it can start`,
					"the features of crun are not known: the runtime could not ask their binaries, which may be missing",
					`the default handler "runc" is not among the handlers`,
				}},
		},
	}
}

// otherStatusForms are those of any runtime, and of CRI-O.
func otherStatusForms() map[string]statusForm {
	on := true
	return map[string]statusForm{
		"not verbose": {
			`{"status": {"conditions": []}, "runtimeHandlers": [{"name": "b"}, {"name": "a"}, {"name": ""}]}`,
			Status{CRI: CRI{Handlers: []Handler{{Name: "a"}, {Name: "b"}}}, Features: map[string]HandlerFeatures{},
				Notes: []string{"the answer does not name the default handler"}},
		},
		// Made from server/runtime_status.go of CRI-O (August 2026).
		"CRI-O": {
			`{"version": {"runtimeName": "cri-o", "runtimeVersion": "1.37.0"}, "status": {"status": {"conditions": []},
			"info": {"config": "{\"crio\":{\"Runtimes\":{\"crun\":{\"RuntimePath\":\"/usr/bin/crun\",\"RuntimeType\":\"oci\"},\"kata\":{\"RuntimePath\":\"/usr/bin/shim\",\"RuntimeType\":\"vm\"}},\"DefaultRuntime\":\"crun\",\"CDISpecDirs\":[\"/etc/cdi\"]},\"sandboxImage\":\"p\"}"},
			"runtimeHandlers": [{"name": "crun", "features": {"recursiveReadOnlyMounts": true}}, {"name": "", "features": {"recursiveReadOnlyMounts": true}}, {"name": "kata", "features": {}}]}}`,
			Status{CRI: CRI{Handlers: []Handler{{Name: "crun", RuntimeType: "oci", RuntimePath: "/usr/bin/crun"}, {Name: "kata", RuntimeType: "vm", RuntimePath: "/usr/bin/shim"}}, DefaultHandler: "crun", CDI: &on},
				RuntimeName: "cri-o", RuntimeVersion: "1.37.0",
				Features: map[string]HandlerFeatures{"crun": {RecursiveReadOnlyMounts: true}, "kata": {}},
				Notes:    []string{"CRI-O lists a handler as soon as it has reloaded its files, but may not be able to run it before it is restarted"}},
		},
	}
}

func TestReadStatusForms(t *testing.T) {
	tests := containerdStatusForms(t)
	maps.Copy(tests, otherStatusForms())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := ReadStatus(strings.NewReader(tt.text), "status.json")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, *s); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if p, _ := s.Look(s.Handlers[0].Name); p != Present {
				t.Errorf("Look = %v", p)
			}
			if p, why := s.Look("nope"); p != Absent || why != "" {
				t.Errorf("Look(nope) = %v, %q", p, why)
			}
		})
	}
}

var badStatuses = []struct{ name, text, want string }{
	{"empty", " \n", `s.json: empty; expected the JSON of a verbose CRI Status, as "crictl info" prints it`},
	{"binary", "\x00", `s.json:1:1: NUL byte: a binary file, not JSON`},
	{"not JSON", "{\n \"status\": nope}", `s.json:2:13: not valid JSON: invalid character 'o' in literal null (expecting 'u')`},
	{"a list", "[]", `s.json:1:2: the answer must not be array`},
	{"another document", `{"kind": "Pod"}`, `s.json: holds no CRI Status; expected the JSON of a verbose CRI Status, as "crictl info" prints it`},
	{"handlers of the wrong type", `{"status": {}, "runtimeHandlers": "runc"}`, `s.json:1:41: runtimeHandlers must not be string`},
	{"config that is no JSON", `{"status": {"conditions": []}, "info": {"config": "x"}}`, `s.json: info.config: invalid character 'x' looking for beginning of value`},
	{"not verbose and no handlers", `{"status": {"conditions": []}}`, `s.json: tells no handlers: a runtime without runtime_handlers (containerd before 2.0, CRI-O before 1.30) must be asked with verbose, and CRI-O 1.29 and older never tell`},
	{"CRI-O 1.29", `{"status": {"conditions": []}, "info": {"config": "{\"sandboxImage\":\"p\"}"}}`, `s.json: tells no handlers: a runtime without runtime_handlers (containerd before 2.0, CRI-O before 1.30) must be asked with verbose, and CRI-O 1.29 and older never tell`},
}

func TestReadStatusRefuses(t *testing.T) {
	for _, tt := range badStatuses {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadStatus(strings.NewReader(tt.text), "s.json")
			if err == nil || err.Error() != tt.want {
				t.Errorf("error\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
}

func FuzzReadStatus(f *testing.F) {
	for _, bad := range badStatuses {
		f.Add(bad.text)
	}
	f.Add(`{"status":{"conditions":[]},"info":{"config":"{\"containerd\":{\"runtimes\":{\"a\":{\"options\":{\"BinaryName\":1}}}}}"},"runtimeHandlers":[{"name":"a","features":{}}]}`)
	f.Add(`{"status":{"conditions":[]},"config":{"crio":{"Runtimes":{"a":null}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadStatus(strings.NewReader(text), "fuzz.json")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz.json:") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is not one line that names the input: %q", err)
			}
			return
		}
		for _, name := range s.Names() {
			if p, _ := s.Look(name); p != Present {
				t.Errorf("Look(%q) = %v", name, p)
			}
		}
	})
}
