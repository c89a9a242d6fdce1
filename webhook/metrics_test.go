package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook/certs"
)

// undecided takes decisions that a test does not look at.
func undecided(*admissionv1.AdmissionRequest, Verdict) {}

// untimed takes times that a test does not look at.
var untimed = prometheus.ObserverFunc(func(float64) {})

// smallInventory has a node of each kind of freshness, and each state of a
// handler.
func smallInventory() *inventory.Index {
	index := inventory.NewIndex(inventory.DefaultOptions)
	node := func(name string, age time.Duration, listed ...string) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(reportNow.Add(-age))}}
		for _, handler := range listed {
			n.Status.RuntimeHandlers = append(n.Status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: handler})
		}
		index.SetNode(n)
	}
	node("kubelet", time.Hour, "", "runc", "nvidia")
	node("young", time.Minute)
	node("silent", time.Hour)
	for name, spec := range map[string]v1alpha1.NodeRuntimeSpec{
		"loaded": {DefaultHandler: "runc", Handlers: []v1alpha1.Handler{{Name: "nvidia"}, {Name: "runc"}}},
		"broken": {
			DefaultHandler: "runc",
			Handlers:       []v1alpha1.Handler{{Name: "nvidia", Binary: &v1alpha1.Program{State: v1alpha1.ProgramNotFound}}},
			Findings: []v1alpha1.Finding{
				{Code: v1alpha1.FindingDefaultBroken, Severity: v1alpha1.SeverityError},
				{Code: v1alpha1.FindingBroken, Severity: v1alpha1.SeverityWarning},
			},
		},
		"expiring": {
			DefaultHandler: "runc",
			Handlers:       []v1alpha1.Handler{{Name: "nvidia"}, {Name: "runc"}},
			Next:           &v1alpha1.Next{Handlers: []string{"runc"}},
			Findings: []v1alpha1.Finding{
				{Code: v1alpha1.FindingExpiring, Severity: v1alpha1.SeverityError, Handler: "nvidia"},
				{Code: config.CodeSectionReplaced, Severity: v1alpha1.SeverityError},
			},
		},
		"lost": {
			DefaultHandler: "runc",
			Handlers:       []v1alpha1.Handler{{Name: "runc"}},
			Findings: []v1alpha1.Finding{
				{Code: v1alpha1.FindingHandlerLost, Severity: v1alpha1.SeverityError, Handler: "nvidia"},
				{Code: "OfALaterVersion", Severity: v1alpha1.SeverityInfo},
			},
		},
		"lacking": {DefaultHandler: "runc", Handlers: []v1alpha1.Handler{{Name: "runc"}}},
		"stale":   {Handlers: []v1alpha1.Handler{{Name: "nvidia"}}, RenewedAt: metav1.NewTime(reportNow.Add(-time.Hour))},
	} {
		node(name, 24*time.Hour)
		if spec.RenewedAt.IsZero() {
			spec.RenewedAt = metav1.NewTime(reportNow.Add(-time.Minute))
		}
		index.SetReport(&v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	}
	return index
}

// metricsOf registers all metrics, of the given nodes and of classes for these
// handlers, and forgets what other tests have counted.
func metricsOf(t *testing.T, index *inventory.Index, handlers ...string) *prometheus.Registry {
	t.Helper()
	decisions.Reset()
	seconds.Reset()
	var classes []nodev1.RuntimeClass
	for _, handler := range handlers {
		classes = append(classes, nodev1.RuntimeClass{Handler: handler})
	}
	registry := prometheus.NewRegistry()
	if err := registerMetrics(registry, "v1.2.3", &inventoryCollector{
		summary: index.Summary,
		classes: func(context.Context) []nodev1.RuntimeClass { return classes },
		synced:  func() bool { return true },
		now:     func() time.Time { return reportNow },
	}); err != nil {
		t.Fatal(err)
	}
	return registry
}

// exampleMetrics has a series of every metric.
func exampleMetrics(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry := metricsOf(t, smallInventory(), "nvidia", "kata", "nvidia")
	count("pods", Verdict{})
	count("pods", Verdict{Findings: []Finding{{Condition: Missing, Action: Deny}, {Condition: Oversized, Action: Warn}}})
	seconds.WithLabelValues("pods").Observe(.0003)
	registry.MustRegister(certs.Fixed(&certs.Pair{TLS: &tls.Certificate{Leaf: &x509.Certificate{NotAfter: time.Unix(2e9, 0)}}}))
	return registry
}

func TestMetrics(t *testing.T) {
	families, err := exampleMetrics(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&page, family); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.ReplaceAll(page.String(), runtime.Version(), "go1.26.0")
	const golden = "testdata/metrics.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", golden, diff)
	}
}

func TestMetricsFollowTheConventions(t *testing.T) {
	problems, err := testutil.GatherAndLint(exampleMetrics(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// docs/metrics.md has all metrics, and no others.
func TestMetricsAreInTheDocs(t *testing.T) {
	families, err := exampleMetrics(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, family := range families {
		var labels []string
		for _, label := range family.Metric[0].Label {
			labels = append(labels, "`"+label.GetName()+"`")
		}
		want = append(want, fmt.Sprintf("`%s` | %s | %s", family.GetName(), strings.ToLower(family.GetType().String()), strings.Join(labels, ", ")))
	}
	docs, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`runtimegate_\\w+` \\| \\w+ \\|[^|]*)\\| .+ \\|$").FindAllStringSubmatch(string(docs), -1) {
		got = append(got, strings.TrimSpace(row[1]))
	}
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table of docs/metrics.md (-metrics +docs):\n%s", diff)
	}
}

// Whatever nodes there are and whatever their reporters say, the number of
// series depends on the RuntimeClasses alone, and no label is the reporters'.
func TestMetricsAreBounded(t *testing.T) {
	index := inventory.NewIndex(inventory.DefaultOptions)
	severities := []v1alpha1.Severity{v1alpha1.SeverityError, v1alpha1.SeverityWarning, v1alpha1.SeverityInfo}
	codes := append(slices.Clone(config.Codes), v1alpha1.FindingCodes...)
	for i := range 2000 {
		name := fmt.Sprintf("hostile-%d", i)
		index.SetNode(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{name: name}},
			Status:     corev1.NodeStatus{RuntimeHandlers: []corev1.NodeRuntimeHandler{{Name: name}}},
		})
		spec := v1alpha1.NodeRuntimeSpec{
			RenewedAt: metav1.NewTime(reportNow), DefaultHandler: name, Handlers: []v1alpha1.Handler{{Name: name}},
			Findings: []v1alpha1.Finding{
				{Code: "H" + name, Severity: severities[i%3], Handler: name, File: name, Message: name},
				{Code: codes[i%len(codes)], Severity: severities[i/len(codes)%3], Handler: name},
			},
		}
		index.SetReport(&v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	}
	families, err := metricsOf(t, index, "nvidia", "kata").Gather()
	if err != nil {
		t.Fatal(err)
	}
	most := map[string]int{
		"runtimegate_build_info":    1,
		"runtimegate_nodes":         len(inventory.Freshnesses),
		"runtimegate_handler_nodes": 3 * len(inventory.HandlerStates),
		"runtimegate_findings":      3 * len(codes), // DumpNotProof is both lists', and Other is none's
	}
	for _, family := range families {
		if got, want := len(family.Metric), most[family.GetName()]; got != want {
			t.Errorf("%s: %d series, want %d", family.GetName(), got, want)
		}
		for _, metric := range family.Metric {
			if slices.ContainsFunc(metric.Label, func(l *dto.LabelPair) bool { return strings.Contains(l.GetValue(), "hostile") }) {
				t.Errorf("%s: %s", family.GetName(), metric)
			}
		}
	}
}

func TestMetricsBeforeTheNodesAreKnown(t *testing.T) {
	nodes := &inventoryCollector{synced: func() bool { return false }}
	if n := testutil.CollectAndCount(nodes); n != 0 {
		t.Errorf("%d series", n)
	}
}

// What is decided about policies, and about classes that are deleted, counts too.
func TestDecisionsThatAreNoVerdictsAreCounted(t *testing.T) { atOnce(testCountsNoVerdicts)(t) }

func testCountsNoVerdicts(t *testing.T) {
	registry := metricsOf(t, onePlainNode())
	policies := policyReviewer(&apiServer{})
	policies.Decided = record("runtimepolicies", discard)
	for _, spec := range []string{
		`{namespaceSelector: {matchLabels: {a: "b c"}}}`,         // no label has that value
		`{namespaceSelector: {matchLabels: {tenant: nobody}}}`,   // selects nothing
		`{namespaceSelector: {}, handlers: {allowed: ["runc"]}}`, // denies nothing
	} {
		review(t, policies, admissionv1.Create, policyObject(t, "p", spec), nil)
	}
	for _, live := range []Lister{&apiServer{}, &apiServer{objects: manyPods(1, "ml", "kata")}} {
		classes := &ClassReviewer{Live: live, Decided: record("runtimeclasses", discard)}
		request := &admissionv1.AdmissionRequest{Operation: admissionv1.Delete, Kind: kindFor(classes), Name: "kata"}
		if _, err := classes.Review(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	const want = `
# HELP runtimegate_decisions_total Admission decisions by resource, condition (OK when none holds) and action.
# TYPE runtimegate_decisions_total counter
runtimegate_decisions_total{action="Allow",condition="OK",resource="runtimeclasses"} 1
runtimegate_decisions_total{action="Allow",condition="OK",resource="runtimepolicies"} 1
runtimegate_decisions_total{action="Deny",condition="Invalid",resource="runtimepolicies"} 1
runtimegate_decisions_total{action="Warn",condition="Effective",resource="runtimepolicies"} 1
runtimegate_decisions_total{action="Warn",condition="InUse",resource="runtimeclasses"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "runtimegate_decisions_total"); err != nil {
		t.Error(err)
	}
}
