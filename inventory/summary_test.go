package inventory

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// finds adds findings to a report.
func finds(r *v1alpha1.NodeRuntime, findings ...v1alpha1.Finding) *v1alpha1.NodeRuntime {
	r.Spec.Findings = findings
	return r
}

func lost(handler string) v1alpha1.Finding {
	return v1alpha1.Finding{Code: v1alpha1.FindingHandlerLost, Severity: v1alpha1.SeverityError, Handler: handler}
}

// Each node stands for one kind of Freshness and one state of the handler nvidia.
func TestSummaryOfOneNode(t *testing.T) {
	fresh, stale := ago(time.Minute), ago(time.Hour)
	young := created(ago(2 * time.Minute))
	broken := report("n", fresh, "nvidia", "runc")
	broken.Spec.Handlers[0].Binary = &v1alpha1.Program{State: v1alpha1.ProgramNotFound}
	expiring := report("n", fresh, "nvidia", "runc")
	expiring.Spec.Next = &v1alpha1.Next{Handlers: []string{"runc"}}
	brokenAndExpiring := broken.DeepCopy()
	brokenAndExpiring.Spec.Next = expiring.Spec.Next
	tests := []struct {
		name      string
		node      *corev1.Node
		report    *v1alpha1.NodeRuntime
		freshness Freshness
		state     HandlerState
	}{
		{"reported", oldNode("n"), report("n", fresh, "nvidia"), Fresh, Loaded},
		{"reported without it", oldNode("n"), report("n", fresh, "runc"), Fresh, Lacking},
		{"its program is missing", oldNode("n"), broken, Fresh, Broken},
		{"gone after the next start", oldNode("n"), expiring, Fresh, Expiring},
		{"broken by the next start", oldNode("n"), finds(report("n", fresh, "nvidia", "runc"), v1alpha1.Finding{Code: v1alpha1.FindingExpiring, Handler: "nvidia"}), Fresh, Expiring},
		{"what is broken now counts before what will be", oldNode("n"), brokenAndExpiring, Fresh, Broken},
		{"gone since the last start", oldNode("n"), finds(report("n", fresh, "runc"), lost("nvidia")), Fresh, Lost},
		{"gone, and the runtime does not answer", oldNode("n"), finds(unreachable("n", "runc"), lost("nvidia")), Fresh, Lost},
		{"gone, on a new node", oldNode("n", young), finds(report("n", fresh, "runc"), lost("nvidia")), Fresh, Lost},
		{"another one is gone", oldNode("n"), finds(report("n", fresh, "runc"), lost("kata")), Fresh, Lacking},
		{"said to be gone and reported", oldNode("n"), finds(report("n", fresh, "nvidia"), lost("nvidia")), Fresh, Loaded},
		{"reported, too young to lack anything", oldNode("n", young), report("n", fresh, "runc"), Fresh, Unknown},
		{"a report that is too old", oldNode("n"), report("n", stale, "nvidia"), Stale, Unknown},
		{"a report from the future", oldNode("n"), report("n", ago(-time.Hour), "nvidia"), Stale, Unknown},
		{"a report that is too old beside a kubelet's list", oldNode("n", lists("nvidia")), report("n", stale, "runc"), Stale, Loaded},
		{"what is too old says nothing of its state", oldNode("n", lists("runc")), finds(report("n", stale, "runc"), lost("nvidia")), Stale, Lacking},
		{"a report of an earlier node of that name", oldNode("n", young), report("n", ago(3*time.Minute), "nvidia"), Young, Unknown},
		{"the kubelet's list alone", oldNode("n", lists("nvidia")), nil, Kubelet, Loaded},
		{"the kubelet's list beside a report of nothing", oldNode("n", lists("runc")), report("n", fresh), Kubelet, Lacking},
		{"the kubelet's list of a new node", oldNode("n", young, lists("nvidia")), nil, Kubelet, Loaded},
		{"a new node", oldNode("n", young), nil, Young, Unknown},
		{"nobody tells", oldNode("n"), nil, Silent, Unknown},
		{"a report of nothing", oldNode("n"), report("n", fresh), Silent, Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := NewIndex(DefaultOptions)
			x.SetNode(tt.node)
			if tt.report != nil {
				x.SetReport(tt.report)
			}
			got := x.Summary([]string{"nvidia"}, now)
			if diff := cmp.Diff(map[Freshness]int{tt.freshness: 1}, got.Nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[HandlerState]int{tt.state: 1}, got.Handlers["nvidia"]); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummaryOfTheDefaultHandler(t *testing.T) {
	standard := func(handlers ...string) *v1alpha1.NodeRuntime {
		r := report("n", ago(time.Minute), handlers...)
		r.Spec.DefaultHandler = "crun"
		return r
	}
	expiring := standard("crun")
	expiring.Spec.Next = &v1alpha1.Next{Handlers: []string{"runc"}}
	for want, r := range map[HandlerState]*v1alpha1.NodeRuntime{
		Loaded: standard("crun"), Broken: standard("runc"), Expiring: expiring, Unknown: report("n", ago(time.Minute), "runc"),
	} {
		x := NewIndex(DefaultOptions)
		x.SetNode(oldNode("n"))
		x.SetReport(r)
		if got := x.Summary([]string{""}, now).Handlers[""]; got[want] != 1 || len(got) != 1 {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

func TestSummaryOfFindings(t *testing.T) {
	finding := func(code string, severity v1alpha1.Severity) v1alpha1.Finding {
		return v1alpha1.Finding{Code: code, Severity: severity}
	}
	x := NewIndex(DefaultOptions)
	for name, r := range map[string]*v1alpha1.NodeRuntime{
		"a": finds(report("a", ago(time.Minute), "runc"), lost("nvidia"), lost("kata"), finding("Mine", v1alpha1.SeverityInfo), finding("Yours", v1alpha1.SeverityInfo)),
		"b": finds(report("b", ago(time.Minute), "runc"), lost("nvidia"), finding("SectionReplaced", v1alpha1.SeverityError)),
		"c": finds(report("c", ago(time.Minute)), finding(v1alpha1.FindingTooManyHandlers, v1alpha1.SeverityError)),
		"d": finds(report("d", ago(time.Hour), "runc"), finding("ReportTooOld", v1alpha1.SeverityError)),
	} {
		x.SetNode(oldNode(name))
		x.SetReport(r)
	}
	x.SetReport(finds(report("no-node", ago(time.Minute), "runc"), lost("nvidia")))
	want := map[FindingKind]int{
		{v1alpha1.FindingHandlerLost, v1alpha1.SeverityError}:     2,
		{OtherCode, v1alpha1.SeverityInfo}:                        1,
		{"SectionReplaced", v1alpha1.SeverityError}:               1,
		{v1alpha1.FindingTooManyHandlers, v1alpha1.SeverityError}: 1,
	}
	if diff := cmp.Diff(want, x.Summary(nil, now).Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	x.DeleteReport("a")
	x.DeleteNode("b")
	delete(want, FindingKind{OtherCode, v1alpha1.SeverityInfo})
	delete(want, FindingKind{"SectionReplaced", v1alpha1.SeverityError})
	delete(want, FindingKind{v1alpha1.FindingHandlerLost, v1alpha1.SeverityError})
	if diff := cmp.Diff(want, x.Summary(nil, now).Findings); diff != "" {
		t.Errorf("findings after two are gone (-want +got):\n%s", diff)
	}
}

func BenchmarkSummary(b *testing.B) {
	x := NewIndex(DefaultOptions)
	var handlers []string
	for i := range 30 {
		handlers = append(handlers, fmt.Sprintf("h%02d", i))
	}
	for i := range 5000 {
		name := fmt.Sprintf("node-%d", i)
		x.SetNode(oldNode(name))
		x.SetReport(finds(report(name, ago(time.Minute), handlers[:10]...), lost("h20")))
	}
	for b.Loop() {
		x.Summary(handlers, now)
	}
}
