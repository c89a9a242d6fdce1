package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// reportNow is the time at which the reports are judged; their nodes are old.
var reportNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// verdictTexts are the verdicts that the reports ask for, in their words, as
// the actions that they allow. "-" is one that needs no answer of ours: the API
// server says it, and we must not contradict it with a denial.
var verdictTexts = map[string][]Action{
	"deny or warn with the hint":       {Warn, Deny},
	"warn/deny (conflict)":             {Warn, Deny},
	"allow":                            {Allow},
	"allow, no lookup":                 {Allow},
	"allow + warn":                     {Warn},
	"warn":                             {Warn},
	"warn (allow)":                     {Warn},
	"warn/deny":                        {Warn, Deny},
	"deny":                             {Deny},
	"deny for nvidia-cdi":              {Deny},
	"deny (or warn for DaemonSet)":     {Deny},
	"warn (DaemonSet pod: never deny)": {Warn},
	"warn (admin may create classes before nodes)":                                 {Warn},
	"warn (1 of 2 eligible)":                                                       {Warn},
	"n0 missing, n1 unknown -> warn":                                               {Warn},
	"warn, or deny if shim health is part of the inventory":                        {Warn, Deny},
	"allow (handler loaded)":                                                       {Allow},
	"deny at step 1; at step 2 deny/warn only if the reporter reports shim health": {Deny},
	"rejected already by the built-in RuntimeClass plugin; do not contradict it":   {Allow, Warn},
	"rejected by the built-in plugin first":                                        {Allow, Warn},
}

// departures are reports whose verdict is not given yet, or not as asked, and
// why. The test fails when one of them is given after all.
var departures = map[string]string{
	"38-generated-config-overwritten-at-restart/pod": "that RKE2 makes the file anew at each start is for the node's reporter to find (condition Expiring); the inventory here has the loaded handlers only",
}

// verdictKeys say which file is judged for which key of expect.yaml's webhook.
var verdictKeys = map[string]string{
	"pod":                 "pod.yaml",
	"pod_both":            "pod-both.yaml",
	"pod_unset":           "pod-unset.yaml",
	"runtimeclass":        "runtimeclass.yaml",
	"runtimeclass_create": "runtimeclass-new.yaml",
	"deployment":          "deployment.yaml",
}

// laterKeys are about what is not reviewed yet: workloads, and the deletion of
// classes.
var laterKeys = []string{"deployment_empty", "runtimeclass_update", "runtimeclass_delete"}

func TestReports(t *testing.T) {
	files, err := filepath.Glob("testdata/reports/*/inventory*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reports: %v", err)
	}
	judged := 0
	for _, file := range files {
		if strings.HasSuffix(file, "-before.yaml") {
			continue
		}
		report := readReport(t, file)
		t.Run(report.name, func(t *testing.T) {
			judged += report.check(t)
		})
	}
	fmt.Printf("reports: %d verdicts of %d reports judged\n", judged, len(files))
	if judged < 30 {
		t.Errorf("only %d verdicts judged", judged)
	}
}

// A report is one public bug report, made again.
type report struct {
	dir, name string
	index     *inventory.Index
	classes   []*nodev1.RuntimeClass
	expect    map[string]string
}

func readReport(t *testing.T, inventoryFile string) *report {
	t.Helper()
	dir := filepath.Dir(inventoryFile)
	r := &report{dir: dir, name: filepath.Base(dir), index: inventory.NewIndex(inventory.DefaultOptions)}
	var expect struct{ Webhook map[string]string }
	readYAML(t, filepath.Join(dir, "expect.yaml"), &expect)
	r.expect = expect.Webhook
	r.fill(t, inventoryFile)
	classFiles, _ := filepath.Glob(filepath.Join(dir, "runtimeclass*.yaml"))
	for _, file := range classFiles {
		r.classes = append(r.classes, readClasses(t, file)...)
	}
	return r
}

// fill makes the nodes of an inventory file, and what their reporters say.
func (r *report) fill(t *testing.T, file string) {
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
	readYAML(t, file, &inv)
	for _, n := range inv.Nodes {
		r.index.SetNode(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, CreationTimestamp: metav1.NewTime(reportNow.Add(-24 * time.Hour))},
			Spec:       corev1.NodeSpec{Taints: n.Taints},
		})
		if n.Loaded == nil {
			continue
		}
		nr := &v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
		nr.Spec.RenewedAt = metav1.NewTime(reportNow.Add(-time.Duration(n.ReportAgeSeconds) * time.Second))
		for _, name := range n.Loaded {
			nr.Spec.Handlers = append(nr.Spec.Handlers, r.handler(t, name))
		}
		r.index.SetReport(nr)
	}
}

// handler says of a loaded handler whether its programs are there, from the
// report's dump and the list of executables on its host.
func (r *report) handler(t *testing.T, name string) v1alpha1.Handler {
	t.Helper()
	handler := v1alpha1.Handler{Name: name}
	hostFile := filepath.Join(r.dir, "host.yaml")
	dump, err := os.Open(filepath.Join(r.dir, "dump.toml"))
	if err != nil {
		return handler
	}
	defer dump.Close()
	if _, err := os.Stat(hostFile); err != nil {
		return handler
	}
	read, err := config.ReadDump(dump, "dump.toml")
	if err != nil {
		t.Fatal(err)
	}
	h, ok := read.Handler(name)
	if !ok {
		return handler
	}
	var host struct{ Executables []string }
	readYAML(t, hostFile, &host)
	shim := h.RuntimePath
	if parts := strings.Split(h.RuntimeType, "."); shim == "" && len(parts) > 2 {
		shim = "/usr/bin/containerd-shim-" + strings.Join(parts[len(parts)-2:], "-")
	}
	handler.Shim = program(shim, host.Executables)
	if h.BinaryName != "" {
		handler.Binary = program(h.BinaryName, host.Executables)
	}
	return handler
}

func program(path string, there []string) *v1alpha1.Program {
	if slices.Contains(there, path) {
		return &v1alpha1.Program{Path: path, State: v1alpha1.ProgramFound}
	}
	return &v1alpha1.Program{Path: path, State: v1alpha1.ProgramNotFound}
}

// check compares all verdicts that the report asks for, and returns their
// number.
func (r *report) check(t *testing.T) (judged int) {
	for key, text := range r.expect {
		file, ok := verdictKeys[key]
		if !ok {
			if !slices.Contains(laterKeys, key) {
				t.Errorf("expect.yaml has the unknown key %q", key)
			}
			continue
		}
		if key == "pod" {
			file = r.podFile()
		}
		path := filepath.Join(r.dir, file)
		if _, err := os.Stat(path); err != nil {
			continue // the report is about its node, not about a Pod
		}
		want, ok := verdictTexts[text]
		if !ok {
			t.Fatalf("verdict %q is in no table", text)
		}
		got, told := r.judge(t, key, path)
		agrees := slices.Contains(want, got)
		if why, departs := departures[r.name+"/"+key]; departs {
			if agrees {
				t.Errorf("%s: departs no more (%s): strike it from the list", key, why)
			}
			t.Logf("%s: %s, not %q: %s", key, got, text, why)
			continue
		}
		if !agrees {
			t.Errorf("%s: %s, want %q\n%s", key, got, text, told)
		}
		t.Logf("%s: %s\n%s", key, got, told)
		judged++
	}
	return judged
}

// podFile is the file that holds the report's Pod, or what makes it.
func (r *report) podFile() string {
	for _, file := range []string{"pod.yaml", "deployment.yaml", "daemonset.yaml"} {
		if _, err := os.Stat(filepath.Join(r.dir, file)); err == nil {
			return file
		}
	}
	return "pod.yaml"
}

// judge sends a manifest through its reviewer and returns the strictest action
// on any of its objects.
func (r *report) judge(t *testing.T, key, path string) (Action, string) {
	t.Helper()
	gate := &Gate{Rules: noRules, MaxAction: Deny,
		Index: r.index, Class: r.class, LiveClass: r.class, Now: func() time.Time { return reportNow }, ClassMissing: Warn,
		Classes: func(context.Context) (all []nodev1.RuntimeClass) {
			for _, class := range r.classes {
				all = append(all, *class)
			}
			return all
		},
	}
	var reviewer Reviewer
	var objects []any
	if strings.HasPrefix(filepath.Base(path), "runtimeclass") {
		reviewer = &ClassReviewer{Gate: gate, Decided: undecided}
		for _, class := range readClasses(t, path) {
			objects = append(objects, class)
		}
	} else if key == "deployment" {
		reviewer = &WorkloadReviewer{Gate: gate, Decided: undecided}
		object := map[string]any{}
		readYAML(t, filepath.Join(r.dir, "deployment.yaml"), &object)
		objects = append(objects, object)
	} else {
		reviewer = &PodReviewer{Gate: gate, Decided: undecided}
		if pod := r.admitted(readPod(t, path)); pod != nil {
			objects = append(objects, pod)
		}
	}
	action, told := Allow, ""
	for _, object := range objects {
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		response, err := reviewer.Review(context.Background(), &admissionv1.AdmissionRequest{
			Operation: admissionv1.Create, Kind: kindFor(reviewer), Object: runtime.RawExtension{Raw: raw},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(response.Warnings) > 0 {
			action = max(action, Warn)
			told += strings.Join(response.Warnings, "\n")
		}
		if !response.Allowed {
			action = Deny
			told += response.Result.Message
		}
	}
	return action, told
}

func (r *report) class(_ context.Context, name string) (*nodev1.RuntimeClass, error) {
	for _, class := range r.classes {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: "node.k8s.io", Resource: "runtimeclasses"}, name)
}

// admitted does what the API server's RuntimeClass admission does to a Pod; nil
// if it rejects the Pod, which then never comes to the webhook.
func (r *report) admitted(pod *corev1.Pod) *corev1.Pod {
	if pod.Spec.RuntimeClassName == nil {
		return pod
	}
	class, err := r.class(context.Background(), *pod.Spec.RuntimeClassName)
	if err != nil || MergeClass(&pod.Spec, class) != nil {
		return nil
	}
	return pod
}

// readPod reads a Pod, or makes the one that a workload's controller would.
func readPod(t *testing.T, path string) *corev1.Pod {
	t.Helper()
	var object struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct{ Template corev1.PodTemplateSpec }
	}
	readYAML(t, path, &object)
	pod := &corev1.Pod{}
	if object.Kind == "Pod" {
		readYAML(t, path, pod)
		return pod
	}
	pod.ObjectMeta, pod.Spec = object.Spec.Template.ObjectMeta, object.Spec.Template.Spec
	pod.Namespace, pod.Name = object.Namespace, object.Name+"-x"
	owner := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	if object.Kind == "Deployment" {
		owner = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&object.ObjectMeta, owner)}
	return pod
}

func readClasses(t *testing.T, path string) []*nodev1.RuntimeClass {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var classes []*nodev1.RuntimeClass
	for decoder := utilyaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		class := &nodev1.RuntimeClass{}
		if err := decoder.Decode(class); err != nil {
			return classes
		}
		classes = append(classes, class)
	}
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
