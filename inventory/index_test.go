package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// oldNode is a node that has been there for a day.
func oldNode(name string, change ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: ago(24 * time.Hour)}}
	for _, f := range change {
		f(node)
	}
	return node
}

func lists(handlers ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, h := range handlers {
			n.Status.RuntimeHandlers = append(n.Status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: h})
		}
	}
}

func notReady(n *corev1.Node) {
	n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown},
	}
}

func created(at metav1.Time) func(*corev1.Node) {
	return func(n *corev1.Node) { n.CreationTimestamp = at }
}

func report(node string, renewed metav1.Time, handlers ...string) *v1alpha1.NodeRuntime {
	r := &v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{Name: node}}
	r.Spec.RenewedAt = renewed
	for _, h := range handlers {
		r.Spec.Handlers = append(r.Spec.Handlers, v1alpha1.Handler{Name: h})
	}
	return r
}

func gpuTaint(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "starting", Effect: corev1.TaintEffectNoSchedule}}
}

func unreachable(node string, handlers ...string) *v1alpha1.NodeRuntime {
	r := report(node, ago(time.Minute), handlers...)
	r.Spec.Findings = []v1alpha1.Finding{{Code: v1alpha1.FindingRuntimeUnreachable}}
	return r
}

// A new node behind a taint is no candidate, and may become one: taints of its
// start have any name.
func TestCoverageOfSettlingNodes(t *testing.T) {
	x := NewIndex(DefaultOptions)
	x.SetNode(oldNode("lacks", lists("runc")))
	x.SetNode(oldNode("tainted", lists("nvidia"), gpuTaint))
	x.SetNode(oldNode("young", lists("nvidia"), gpuTaint, created(ago(time.Minute))))
	c := x.Coverage(ClassPlacement(nil, nil, false), "nvidia", 0, now)
	if c.Candidates() != 1 || c.Settling.String() != "young" || c.Tainted.String() != "tainted, young" {
		t.Errorf("%d candidates, settling: %s, tainted: %s", c.Candidates(), c.Settling, c.Tainted)
	}
}

// knowledge asks an index of one node about the handler nvidia.
func knowledge(x *Index) Knowledge {
	c := x.Coverage(ClassPlacement(nil, nil, false), "nvidia", 0, now)
	for _, k := range []Knowledge{Has, Lacks, UnknownSilent, UnknownStale, UnknownYoung, UnknownDown} {
		if (&walkedCoverage{c}).nodes(k).Count == 1 {
			return k
		}
	}
	return -1
}

func TestKnowledge(t *testing.T) {
	fresh, stale := ago(5*time.Minute), ago(16*time.Minute)
	unproven := report("n", fresh, "runc")
	unproven.Spec.Findings = []v1alpha1.Finding{{Code: v1alpha1.FindingDumpNotProof}}
	unconfirmed := report("n", fresh, "nvidia", "runc")
	unconfirmed.Spec.Findings = []v1alpha1.Finding{{Code: v1alpha1.FindingHandlerUnconfirmed, Handler: "nvidia"}}
	goneUnconfirmed := report("n", fresh, "runc")
	goneUnconfirmed.Spec.Findings = unconfirmed.Spec.Findings
	dump := report("n", fresh, "runc")
	dump.Spec.Source = v1alpha1.SourceConfigDump
	dumpWith := report("n", fresh, "nvidia")
	dumpWith.Spec.Source = v1alpha1.SourceConfigDump
	tests := []struct {
		name   string
		node   *corev1.Node
		report *v1alpha1.NodeRuntime
		want   Knowledge
	}{
		{"reported", oldNode("n"), report("n", fresh, "nvidia", "runc"), Has},
		{"reported without", oldNode("n"), report("n", fresh, "runc"), Lacks},
		{"the report counts more than the kubelet's list", oldNode("n", lists("nvidia")), report("n", fresh, "runc"), Lacks},
		{"no report, no list", oldNode("n"), nil, UnknownSilent},
		{"a report of no handlers tells nothing", oldNode("n"), report("n", fresh), UnknownSilent},
		{"a report that is too old", oldNode("n"), report("n", stale, "nvidia"), UnknownStale},
		{"a report that is too old gives way to the kubelet's list", oldNode("n", lists("nvidia")), report("n", stale, "runc"), Has},
		{"a report that is just in time", oldNode("n"), report("n", ago(15*time.Minute), "runc"), Lacks},
		{"a report of an earlier node of that name", oldNode("n", created(ago(11*time.Minute))), report("n", ago(12*time.Minute), "runc"), UnknownStale},
		{"a report that proves no absence", oldNode("n"), unproven, UnknownSilent},
		{"the kubelet lists it", oldNode("n", lists("", "runc", "nvidia")), nil, Has},
		{"the kubelet does not list it", oldNode("n", lists("", "runc")), nil, Lacks},
		{"a list of the default alone names none", oldNode("n", lists("")), nil, UnknownSilent},
		{"a kubelet that is not ready tells no more", oldNode("n", lists("", "runc"), notReady), nil, UnknownSilent},
		{"but what it had stays", oldNode("n", lists("", "nvidia"), notReady), nil, Has},
		{"a node that is not ready has a reporter", oldNode("n", notReady), report("n", fresh, "runc"), Lacks},
		{"a young node may be installing", oldNode("n", created(ago(9*time.Minute))), report("n", ago(0), "runc"), UnknownYoung},
		{"so may one that the kubelet tells of", oldNode("n", lists("runc"), created(ago(9*time.Minute))), nil, UnknownYoung},
		{"a young node that has it has it", oldNode("n", created(ago(9*time.Minute))), report("n", ago(0), "nvidia"), Has},
		{"a dump is all there is", oldNode("n"), dump, Lacks},
		{"the kubelet of the running runtime knows better than a dump", oldNode("n", lists("nvidia")), dump, Has},
		{"also that it is not loaded yet", oldNode("n", lists("runc")), dumpWith, Lacks},
		{"a node that is not ready may load what its dump lacks", oldNode("n", notReady), dump, UnknownSilent},
		{"a report from the future", oldNode("n"), report("n", ago(-6*time.Minute), "runc"), UnknownStale},
		{"a clock that is a little ahead", oldNode("n"), report("n", ago(-4*time.Minute), "runc"), Lacks},
		{"a runtime that no longer answers may come back with more", oldNode("n"), unreachable("n", "runc"), UnknownDown},
		{"or with less", oldNode("n"), unreachable("n", "nvidia"), UnknownDown},
		{"whatever the kubelet heard before", oldNode("n", lists("", "nvidia")), unreachable("n", "nvidia"), UnknownDown},
		{"what CRI-O lists since a reload is not sure", oldNode("n"), unconfirmed, UnknownSilent},
		{"nor is what it lists no more", oldNode("n"), goneUnconfirmed, UnknownSilent},
		{"a node that has settled", oldNode("n", created(ago(10*time.Minute))), report("n", ago(0), "runc"), Lacks},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// Whatever comes first must not matter.
			nodeFirst, reportFirst := NewIndex(DefaultOptions), NewIndex(DefaultOptions)
			nodeFirst.SetNode(tt.node)
			if tt.report != nil {
				nodeFirst.SetReport(tt.report)
				reportFirst.SetReport(tt.report)
			}
			reportFirst.SetNode(tt.node)
			for order, x := range map[string]*Index{"node first": nodeFirst, "report first": reportFirst} {
				if got := knowledge(x); got != tt.want {
					t.Errorf("%s: %d, want %d", order, got, tt.want)
				}
			}
		})
	}
}

func TestIndexFollowsChanges(t *testing.T) {
	x := NewIndex(DefaultOptions)
	step := func(what string, want Knowledge) {
		t.Helper()
		if got := knowledge(x); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	x.SetNode(oldNode("n"))
	step("node", UnknownSilent)
	x.SetReport(report("n", ago(0), "nvidia"))
	step("report", Has)
	x.SetNode(oldNode("n", func(n *corev1.Node) { n.Labels = map[string]string{"a": "b"} }))
	step("node changed", Has)
	x.SetReport(report("n", ago(0), "runc"))
	step("report changed", Lacks)
	x.DeleteReport("n")
	step("report gone", UnknownSilent)
	x.SetReport(report("n", ago(0), "nvidia"))
	x.DeleteNode("n")
	step("node gone", -1)
	x.SetNode(oldNode("n"))
	step("another node of that name", UnknownSilent)
	x.SetReport(report("n", ago(12*time.Minute), "nvidia"))
	step("report of that one", Has)
	// A watch that was interrupted shows it as a change.
	x.SetNode(oldNode("n", created(ago(11*time.Minute))))
	step("node made anew unseen", UnknownStale)
	x.SetReport(report("n", ago(time.Minute), "nvidia"))
	step("reported anew", Has)
	if x.NodeCount() != 1 {
		t.Errorf("%d nodes", x.NodeCount())
	}
}

func TestCoverage(t *testing.T) {
	x := NewIndex(DefaultOptions)
	pool := func(name string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Labels = map[string]string{"pool": name} }
	}
	for _, name := range []string{"g5", "g4", "g3", "g2", "g1"} {
		x.SetNode(oldNode(name, pool("gpu")))
		x.SetReport(report(name, ago(0), "runc", "nvidia"))
	}
	broken := report("g1", ago(0), "runc", "nvidia")
	broken.Spec.Handlers[1].Binary = &v1alpha1.Program{State: v1alpha1.ProgramNotFound}
	x.SetReport(broken)
	expiring := report("g2", ago(0), "runc", "nvidia")
	expiring.Spec.Next = &v1alpha1.Next{Handlers: []string{"runc"}}
	x.SetReport(expiring)
	x.SetNode(oldNode("c1", pool("cpu")))
	x.SetReport(report("c1", ago(0), "runc", "runsc"))
	x.SetNode(oldNode("c2", pool("cpu"), lists("runc")))
	x.SetNode(oldNode("c3", pool("cpu")))
	x.SetNode(oldNode("t1", pool("tainted"), lists("nvidia"), func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	}))

	got := x.Coverage(ClassPlacement(nil, nil, false), "nvidia", 0, now)
	want := Coverage{
		Has:       Nodes{5, []string{"g1", "g2", "g3"}},
		Lacks:     Nodes{2, []string{"c1", "c2"}},
		Silent:    Nodes{1, []string{"c3"}},
		Broken:    Nodes{1, []string{"g1"}},
		Faults:    BinaryMissing,
		Expiring:  Nodes{1, []string{"g2"}},
		Loaded:    []string{"nvidia", "runc", "runsc"},
		Elsewhere: Nodes{1, []string{"t1"}},
		Tainted:   Nodes{1, []string{"t1"}},
		Taint:     corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("everywhere (-want +got):\n%s", diff)
	}
	if got.Candidates() != 8 || got.Unknown() != 1 || got.Has.String() != "g1, g2, g3 and 2 more" {
		t.Errorf("%d candidates, %d unknown, %s", got.Candidates(), got.Unknown(), got.Has)
	}
	got = x.Coverage(ClassPlacement(map[string]string{"pool": "cpu"}, nil, true), "nvidia", 0, now)
	want = Coverage{
		Lacks:     Nodes{2, []string{"c1", "c2"}},
		Silent:    Nodes{1, []string{"c3"}},
		Loaded:    []string{"runc", "runsc"},
		Elsewhere: Nodes{6, []string{"g1", "g2", "g3"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in the pool (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"nvidia", "runc", "runsc"}, x.Loaded(now)); diff != "" {
		t.Errorf("loaded anywhere (-want +got):\n%s", diff)
	}
}

// What the index uses of a Node must be in what a cache keeps.
func TestStripNodeKeepsWhatIsUsed(t *testing.T) {
	node := oldNode("n", lists("nvidia"), notReady, func(n *corev1.Node) {
		n.Labels = map[string]string{"a": "b"}
		n.Annotations = map[string]string{"big": "x"}
		n.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		n.Spec = corev1.NodeSpec{PodCIDR: "10.0.0.0/24", Taints: []corev1.Taint{{Key: "t"}}}
		n.Status.Images = []corev1.ContainerImage{{}}
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: {}}
	})
	got := StripNode(node)
	if diff := cmp.Diff(got, StripNode(got)); diff != "" {
		t.Errorf("stripped twice is not stripped once:\n%s", diff)
	}
	if got.Annotations != nil || got.ManagedFields != nil || got.Status.Images != nil || got.Spec.PodCIDR != "" {
		t.Errorf("kept what nobody uses: %+v", got)
	}
	if got.Labels["a"] != "b" || len(got.Spec.Taints) != 1 || len(got.Status.Conditions) != 1 ||
		len(got.Status.RuntimeHandlers) != 1 || len(got.Status.Allocatable) != 1 {
		t.Errorf("lost what is used: %+v", got)
	}
}
