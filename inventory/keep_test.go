package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// TestKeeperKeepsWhatIsUsed: what is kept of objects gives the same answers as the
// objects, also when it is kept twice, as a cache may do, and equal parts are the
// same memory.
func TestKeeperKeepsWhatIsUsed(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	node := func(name string) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, "zone": "a"}, Annotations: map[string]string{"long": "text"}},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}},
			Status: corev1.NodeStatus{
				Allocatable:     corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
				RuntimeHandlers: []corev1.NodeRuntimeHandler{{Name: "runc"}},
				Images:          []corev1.ContainerImage{{Names: []string{"image"}}},
			},
		}
	}
	report := func(name string) *v1alpha1.NodeRuntime {
		return &v1alpha1.NodeRuntime{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
			Spec: v1alpha1.NodeRuntimeSpec{
				Runtime: v1alpha1.Runtime{Name: "containerd", Version: "v2.4.2"}, DefaultHandler: "runc", Source: v1alpha1.SourceCRI,
				Handlers: []v1alpha1.Handler{
					{Name: "nvidia", RuntimeType: "io.containerd.runc.v2", Origin: "file:1", Shim: &v1alpha1.Program{Path: "/shim", State: v1alpha1.ProgramNotFound}},
					{Name: "runc", Features: &v1alpha1.Features{UserNamespaces: true}, Binary: &v1alpha1.Program{Path: "/runc", State: v1alpha1.ProgramFound}},
				},
				Next:      &v1alpha1.Next{Handlers: []string{"runc"}, DefaultHandler: "runc"},
				CDI:       &v1alpha1.CDI{Enabled: true},
				Findings:  []v1alpha1.Finding{{Code: v1alpha1.FindingExpiring, Severity: v1alpha1.SeverityError, Handler: "nvidia", Message: "it goes", File: "/f", Line: 3}},
				RenewedAt: metav1.NewTime(now),
			},
		}
	}
	k := &keeper{}
	whole, kept := NewIndex(DefaultOptions), NewIndex(DefaultOptions)
	for _, name := range []string{"a", "b"} {
		whole.SetNode(node(name))
		whole.SetReport(report(name))
		kept.SetNode(k.node(k.node(node(name))))
		kept.SetReport(k.report(k.report(report(name))))
	}
	p := PlacementOf(&corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}})
	for _, handler := range []string{"", "runc", "nvidia", "kata"} {
		want, got := whole.Coverage(p, handler, UserNamespaces, now), kept.Coverage(p, handler, UserNamespaces, now)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", handler, diff)
		}
	}
	marks, was := MarksOf(k.node(node("a")), k.report(report("a")), DefaultOptions, now), MarksOf(node("a"), report("a"), DefaultOptions, now)
	if diff := cmp.Diff(was, marks); diff != "" {
		t.Errorf("marks: %s", diff)
	}

	a, b := k.node(node("a")), k.node(node("b"))
	ra, rb := k.report(report("a")), k.report(report("b"))
	if &a.Spec.Taints[0] != &b.Spec.Taints[0] || &a.Status.RuntimeHandlers[0] != &b.Status.RuntimeHandlers[0] ||
		&ra.Spec.Handlers[0] != &rb.Spec.Handlers[0] || &ra.Spec.Findings[0] != &rb.Spec.Findings[0] || &ra.Spec.Next.Handlers[0] != &rb.Spec.Next.Handlers[0] {
		t.Error("equal parts are kept twice")
	}
	if f := ra.Spec.Findings[0]; f.Message != "it goes" || f.Line != 3 {
		t.Errorf("the audit's finding is %+v", f)
	}
}

// TestSharedForgets: as many different values as there may be do not fill it.
func TestSharedForgets(t *testing.T) {
	var s shared[[]string]
	for i := range 3 * maxShared {
		s.of([]string{string(rune(i))})
	}
	if len(s.known) > maxShared {
		t.Errorf("%d values are kept", len(s.known))
	}
}
