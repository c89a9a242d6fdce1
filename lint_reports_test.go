package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook"
)

const reportsDir = "webhook/testdata/reports"

// reportTime is when the snapshots of the reports were taken.
var reportTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// lintDepartures are reports of which the inventory does not tell all, so that
// the verdict is not as asked, and why.
var lintDepartures = map[string]string{
	"32-partial-override-loses-runtime-type/pod.yaml":     "that there is no shim is not in the inventory",
	"38-generated-config-overwritten-at-restart/pod.yaml": "what the next start loads is not in the inventory",
	"42-runtime-path-to-absent-shim/pod.yaml":             "that there is no shim is not in the inventory",
	"44-binaryname-missing-behind-runc-shim/pod.yaml":     "that there is no OCI runtime is not in the inventory",
	"45-shim-file-has-another-version-suffix/pod.yaml":    "that there is no shim is not in the inventory",
}

// TestLintReports judges the manifests of public bug reports by snapshots made of
// their inventories, and compares with testdata/lint_reports.golden (UPDATE=1
// writes it anew) and with the verdict that each asks for.
func TestLintReports(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(reportsDir, "*/inventory*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports: %v", err)
	}
	var told strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "-before.yaml") {
			continue
		}
		snapshot := reportSnapshot(t, file)
		dir := filepath.Dir(file)
		fmt.Fprintf(&told, "# %s\n", strings.TrimPrefix(file, reportsDir+"/"))
		for _, manifest := range reportManifests(t, dir) {
			stdout, stderr, err := runCommand(t, "lint", "-f", manifest, "--snapshot", snapshot, "--now", reportTime.Format(time.RFC3339))
			var exit *exitError
			if stderr != "" || err != nil && (!errors.As(err, &exit) || exit.code != 1) {
				t.Errorf("%s: error %v, stderr %q", manifest, err, stderr)
			}
			stdout = strings.ReplaceAll(stdout, manifest, filepath.Base(manifest))
			told.WriteString(stdout)
			checkReport(t, manifest, stdout)
		}
	}
	const golden = "testdata/lint_reports.golden"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(told.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if told.String() != string(want) {
		t.Errorf("not as in %s (UPDATE=1 writes it anew); got:\n%s", golden, told.String())
	}
}

// reportManifests are the Pods, workloads and classes of a report.
func reportManifests(t *testing.T, dir string) []string {
	t.Helper()
	var manifests []string
	for _, pattern := range []string{"pod*.yaml", "deployment*.yaml", "daemonset*.yaml", "runtimeclass*.yaml"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, found...)
	}
	return manifests
}

var (
	inBrackets = regexp.MustCompile(`\([^)]*\)`)
	actionWord = regexp.MustCompile(`(?i)\b(deny|warn|allow|reject)`)
	toldAction = regexp.MustCompile(`^[^:]+:\d+: [^:]+: (Deny|Warn|Audit): `)
)

// checkReport compares the strictest action that was told of a manifest with
// the verdict that the report asks for in its own words.
func checkReport(t *testing.T, manifest, stdout string) {
	t.Helper()
	dir, file := filepath.Split(manifest)
	var expect struct{ Webhook map[string]string }
	content, err := os.ReadFile(filepath.Join(dir, "expect.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, &expect); err != nil {
		t.Fatal(err)
	}
	key := strings.ReplaceAll(strings.TrimSuffix(file, ".yaml"), "-", "_")
	text, ok := expect.Webhook[key]
	text = strings.ReplaceAll(text, "allow + warn", "warn")
	if key == "daemonset" {
		text, ok = expect.Webhook["pod"] // of this DaemonSet
	}
	if !ok {
		return
	}
	got := webhook.Allow.String()
	for line := range strings.Lines(stdout) {
		if m := toldAction.FindStringSubmatch(line); m != nil && got != "Deny" {
			got = m[1]
		}
	}
	allowed := []string{}
	for _, word := range actionWord.FindAllString(inBrackets.ReplaceAllString(text, ""), -1) {
		switch word = strings.ToLower(word); {
		case word == "reject", word == "deny" && key != "pod":
			// What is rejected fails to apply; workloads are only warned of.
			allowed = append(allowed, "Deny", "Warn")
		default:
			allowed = append(allowed, strings.ToUpper(word[:1])+word[1:])
		}
	}
	name := filepath.Base(filepath.Clean(dir)) + "/" + file
	agrees := slices.Contains(allowed, got)
	if why, departs := lintDepartures[name]; departs {
		if agrees {
			t.Errorf("%s: departs no more (%s): strike it from the list", name, why)
		}
		return
	}
	if !agrees {
		t.Errorf("%s: %s, want %q\n%s", name, got, text, stdout)
	}
}

// reportSnapshot writes an inventory, and the classes beside it, as kubectl would
// print the cluster.
func reportSnapshot(t *testing.T, file string) string {
	t.Helper()
	var inv struct {
		Nodes []struct {
			Name             string
			Labels           map[string]string
			Taints           []corev1.Taint
			Loaded           []string
			ReportAgeSeconds int
		}
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, &inv); err != nil {
		t.Fatal(err)
	}
	list := &corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	add := func(object any) {
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		list.Items = append(list.Items, runtime.RawExtension{Raw: raw})
	}
	for _, n := range inv.Nodes {
		add(&corev1.Node{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, CreationTimestamp: metav1.NewTime(reportTime.Add(-24 * time.Hour))},
			Spec:       corev1.NodeSpec{Taints: n.Taints},
		})
		if n.Loaded == nil {
			continue
		}
		report := &v1alpha1.NodeRuntime{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeRuntime"},
			ObjectMeta: metav1.ObjectMeta{Name: n.Name},
		}
		report.Spec.RenewedAt = metav1.NewTime(reportTime.Add(-time.Duration(n.ReportAgeSeconds) * time.Second))
		for _, name := range n.Loaded {
			report.Spec.Handlers = append(report.Spec.Handlers, v1alpha1.Handler{Name: name})
		}
		add(report)
	}
	text, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	classes, err := filepath.Glob(filepath.Join(filepath.Dir(file), "runtimeclass*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range classes {
		f, err := os.Open(class)
		if err != nil {
			t.Fatal(err)
		}
		more, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, "---\n"...), more...)
	}
	path := filepath.Join(t.TempDir(), "snapshot.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
