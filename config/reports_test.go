package config

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	yaml "go.yaml.in/yaml/v3"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// The codes that reports from the field ask for, and our findings.
var reportCodes = map[string]string{
	"BINARYNAME_NOT_FOUND":         CodeBinaryNotFound,
	"CRI_DISABLED":                 CodeCRIDisabled,
	"DAEMON_WILL_NOT_START":        CodeDaemonWillNotStart,
	"DEFAULT_RUNTIME_UNDEFINED":    CodeDefaultMissing,
	"DROPIN_NOT_IMPORTED":          CodeNotImported,
	"HANDLER_UNREFERENCABLE":       CodeUnreferencable,
	"OVERWRITTEN_ON_RESTART":       CodeGeneratedFile,
	"PLUGIN_SECTION_REPLACED":      CodeSectionReplaced,
	"RUNTIME_TYPE_EMPTY":           CodeRuntimeTypeEmpty,
	"SHIM_NOT_FOUND":               CodeShimNotFound,
	"TEMPLATE_REPLACES_BASE":       CodeTemplateReplacesBase,
	"WRONG_PLUGIN_KEY_FOR_VERSION": CodeOldPluginName,
}

// Reports whose files are as they should be: what is wrong is elsewhere, in
// the cluster, in what is not written at all, or in the restart that is due.
var healthyReports = []string{
	"01-", "06-", "09-", "10-", "13-", "16-", "17-", "24-", "34-", "35-", "36-", "38-", "47-", "59-",
}

var reportTests = []struct{ root, runtime, path string }{
	{"01-toolkit-preinstalled-containerd-untouched/root", "1.7.34", ""},
	{"04-class-for-flavour-not-in-config-then-shim-missing/step1/root", "1.7.34", ""},
	{"04-class-for-flavour-not-in-config-then-shim-missing/step2/root", "1.7.34", ""},
	{"06-openshift-nodes-have-crun-only/root", "cri-o 1.33.0", ""},
	{"09-three-classes-one-handler-on-immutable-os/root", "2.0.11", ""},
	{"10-k3s-autodetect-does-not-look-there/root", "2.0.11", ""},
	{"13-toolkit-wrote-config-restart-disabled/root", "1.7.34", ""},
	{"16-addon-installer-crashloops-class-exists/root", "1.7.34", ""},
	{"17-bootstrap-started-instead-of-restarted/root", "1.7.34", ""},
	{"19-handler-vanishes-weeks-later/before/root", "1.7.34", ""},
	{"19-handler-vanishes-weeks-later/after/root", "1.7.34", ""},
	{"20-dropin-dir-outside-imports-glob/root", "1.7.34", ""},
	{"21-dropin-written-but-root-has-no-imports/root", "1.7.34", ""},
	{"22-one-dropin-replaces-the-whole-cri-section/root", "1.7.34", ""},
	{"24-same-files-fine-on-2x/root", "2.0.11", ""},
	{"25-operator-dropin-without-runc-takes-node-down/root", "1.7.34", ""},
	{"30-version-3-file-old-plugin-name/root", "2.0.0", ""},
	{"32-partial-override-loses-runtime-type/root", "1.7.34", ""},
	{"33-crio-dropin-dir-wrong/root", "cri-o 1.33.2", ""},
	{"34-probe-false-positive-substring/n0/root", "1.7.34", ""},
	{"35-probe-false-negative-old-key-and-no-imports/root", "2.2.7", ""},
	{"36-toolkit-resets-cni-bin-dir/before/root", "2.0.11", ""},
	{"36-toolkit-resets-cni-bin-dir/after/root", "2.0.11", ""},
	{"38-generated-config-overwritten-at-restart/root", "1.7.34", ""},
	{"41-config-taken-from-anothers-dump-disables-cri/root", "1.7.34", ""},
	{"42-runtime-path-to-absent-shim/root", "1.7.34", ""},
	{"44-binaryname-missing-behind-runc-shim/root", "1.7.34", ""},
	{"45-shim-file-has-another-version-suffix/root", "2.0.11", ""},
	{"47-default-runtime-nvidia-bricks-node/root", "1.7.34", ""},
	{"59-untrusted-annotation-hidden-handler/root", "1.7.34", ""},
	{"60-handler-name-not-a-dns-label/root", "1.7.34", ""},
}

// reportHost is the host of a report: its files, and the programs that
// host.yaml says it has.
func reportHost(t *testing.T, root string) (*hostfs.FS, string) {
	t.Helper()
	m := fstest.MapFS{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(root, p)
		m[rel] = &fstest.MapFile{Mode: 0o644, Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var host struct {
		PATH        string   `yaml:"daemonPATH"`
		Executables []string `yaml:"executables"`
	}
	for dir := root; dir != "testdata/reports"; dir = filepath.Dir(dir) {
		if data, err := os.ReadFile(dir + "/host.yaml"); err == nil {
			if err := yaml.Unmarshal(data, &host); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, e := range host.Executables {
		m[strings.TrimPrefix(e, "/")] = &fstest.MapFile{Mode: 0o755}
	}
	return hostfs.New(m), host.PATH
}

// wantedCodes reads the list cli of a report; of one in steps, the step's.
func wantedCodes(t *testing.T, root string) []string {
	t.Helper()
	report, step, _ := strings.Cut(root, "/")
	data, err := os.ReadFile(filepath.Join("testdata/reports", report, "expect.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var expect struct {
		CLI yaml.Node `yaml:"cli"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&expect); err != nil {
		t.Fatal(err)
	}
	var codes []string
	if expect.CLI.Kind == yaml.MappingNode {
		steps := map[string][]string{}
		err = expect.CLI.Decode(&steps)
		codes = steps[strings.TrimSuffix(step, "/root")]
	} else if expect.CLI.Kind != 0 {
		err = expect.CLI.Decode(&codes)
	}
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

// Reports from the field: each finding that a report asks for is there, and
// none above Info where the files are fine.
func TestFindingsOfReports(t *testing.T) {
	for _, test := range reportTests {
		t.Run(test.root, func(t *testing.T) {
			host, searchPath := reportHost(t, filepath.Join("testdata/reports", test.root))
			rt := mustRuntime(t, test.runtime)
			at := Locate(host, rt.Name)
			if len(at) == 0 {
				t.Fatal("no configuration found")
			}
			r, err := Load(host, Options{Runtime: rt, Path: at[0].Path, PathOptional: !at[0].Told, SearchPath: searchPath})
			if err != nil {
				t.Fatal(err)
			}
			wants := wantedCodes(t, test.root)
			for _, want := range wants {
				checkReportCode(t, r, want)
			}
			healthy := slices.ContainsFunc(healthyReports, func(p string) bool { return strings.HasPrefix(test.root, p) }) || slices.Contains(wants, "OK")
			for _, f := range r.Findings {
				if healthy && f.Severity != Info {
					t.Errorf("a false alarm: %+v", f)
				}
			}
		})
	}
}

func checkReportCode(t *testing.T, r *Result, want string) {
	t.Helper()
	has := func(code, text string, severity Severity) bool {
		return slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return f.Code == code && strings.Contains(f.Message, text) && (severity == "" || severity == f.Severity)
		})
	}
	ok := true
	switch code, handler, _ := strings.Cut(want, ":"); {
	case reportCodes[code] != "":
		ok = has(reportCodes[code], "", "")
	case code == "DEFAULT_RUNTIME_BROKEN":
		ok = has(CodeBinaryNotFound, "every Pod", Error)
	case code == "HINT_NEAR_MISS":
		ok = has(CodeShimNotFound, "is there", "")
	case code == "HANDLER_NOT_CONFIGURED" && handler != "" && handler != "n0":
		_, loaded := r.Final().Handler(handler)
		ok = !loaded
	}
	if !ok {
		t.Errorf("want %s; the findings are %s", want, fmt.Sprintf("%+v", r.Findings))
	}
}
