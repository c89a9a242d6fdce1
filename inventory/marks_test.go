package inventory

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

func TestMarks(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	o := Options{StaleAfter: 15 * time.Minute, NodeSettle: 10 * time.Minute}
	type change = func(*corev1.Node, *v1alpha1.NodeRuntime)
	finding := func(code, handler string, severity v1alpha1.Severity) change {
		return func(_ *corev1.Node, r *v1alpha1.NodeRuntime) {
			r.Spec.Findings = append(r.Spec.Findings, v1alpha1.Finding{Code: code, Handler: handler, Severity: severity, Message: code + " of " + handler})
		}
	}
	label := func(handler string) change {
		return func(n *corev1.Node, _ *v1alpha1.NodeRuntime) { n.Labels[HandlerLabelPrefix+handler] = "true" }
	}
	stale := func(_ *corev1.Node, r *v1alpha1.NodeRuntime) { r.Spec.RenewedAt = metav1.NewTime(now.Add(-time.Hour)) }
	young := func(n *corev1.Node, _ *v1alpha1.NodeRuntime) {
		n.CreationTimestamp = metav1.NewTime(now.Add(-5 * time.Minute))
	}
	listed := func(n *corev1.Node, _ *v1alpha1.NodeRuntime) {
		n.Status.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Name: "runc"}}
	}
	dump := func(_ *corev1.Node, r *v1alpha1.NodeRuntime) { r.Spec.Source = v1alpha1.SourceConfigDump }
	unloaded := func(_ *corev1.Node, r *v1alpha1.NodeRuntime) { r.Spec.Handlers = nil }
	for name, test := range map[string]struct {
		changes []change
		none    bool   // there is no NodeRuntime
		labels  string // as +set -taken
		status  corev1.ConditionStatus
		reason  string
		again   time.Duration
	}{
		"loaded":         {nil, false, "+nvidia +runc", corev1.ConditionTrue, "HandlersLoaded", 14 * time.Minute},
		"all set":        {[]change{label("nvidia"), label("runc")}, false, "", corev1.ConditionTrue, "HandlersLoaded", 14 * time.Minute},
		"one is gone":    {[]change{label("nvidia"), label("runc"), label("kata")}, false, "-kata", corev1.ConditionTrue, "HandlersLoaded", 14 * time.Minute},
		"one is lost":    {[]change{label("kata"), finding(v1alpha1.FindingHandlerLost, "kata", v1alpha1.SeverityError)}, false, "+nvidia +runc -kata", corev1.ConditionFalse, "HandlerLost", 14 * time.Minute},
		"young":          {[]change{label("kata"), young}, false, "+nvidia +runc", corev1.ConditionTrue, "HandlersLoaded", 5 * time.Minute},
		"stale":          {[]change{label("kata"), label("nvidia"), stale}, false, "", corev1.ConditionUnknown, "ReportStale", 0},
		"no report":      {[]change{label("kata")}, true, "", corev1.ConditionUnknown, "NotReported", 0},
		"kubelet's list": {[]change{label("kata"), listed}, true, "+runc -kata", corev1.ConditionUnknown, "NotReported", 0},
		"unreachable: nothing is known, what is there stays": {[]change{label("kata"), finding(v1alpha1.FindingRuntimeUnreachable, "", v1alpha1.SeverityError)}, false,
			"", corev1.ConditionFalse, "RuntimeUnreachable", 14 * time.Minute},
		"never seen": {[]change{label("kata"), unloaded, finding(v1alpha1.FindingRuntimeUnreachable, "", v1alpha1.SeverityError)}, false,
			"", corev1.ConditionFalse, "RuntimeUnreachable", 14 * time.Minute},
		"nothing known": {[]change{unloaded}, false, "", corev1.ConditionUnknown, "NotReported", 14 * time.Minute},
		"no shim": {[]change{label("nvidia"), finding(v1alpha1.FindingBroken, "nvidia", v1alpha1.SeverityWarning), func(_ *corev1.Node, r *v1alpha1.NodeRuntime) {
			r.Spec.Handlers[0].Shim = &v1alpha1.Program{State: v1alpha1.ProgramNotFound}
		}}, false, "+runc -nvidia", corev1.ConditionFalse, "Broken", 14 * time.Minute},
		"expiring": {[]change{func(_ *corev1.Node, r *v1alpha1.NodeRuntime) {
			r.Spec.Next = &v1alpha1.Next{Handlers: []string{"runc"}}
		}}, false,
			"+nvidia +runc", corev1.ConditionTrue, "HandlersLoaded", 14 * time.Minute},
		"dump":                    {[]change{dump}, false, "+nvidia +runc", corev1.ConditionUnknown, "NotReported", 14 * time.Minute},
		"dump and kubelet's list": {[]change{dump, listed, label("nvidia")}, false, "+runc -nvidia", corev1.ConditionTrue, "HandlersLoaded", 14 * time.Minute},
		"no name of a class": {[]change{func(_ *corev1.Node, r *v1alpha1.NodeRuntime) {
			r.Spec.Handlers = append(r.Spec.Handlers, v1alpha1.Handler{Name: "Kata_x"}, v1alpha1.Handler{Name: strings.Repeat("x", 64)})
		}}, false, "+nvidia +runc", corev1.ConditionTrue, "HandlersLoaded", 14 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: metav1.NewTime(now.Add(-2 * time.Hour)), Labels: map[string]string{}}}
			report := &v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.NodeRuntimeSpec{
				Handlers: []v1alpha1.Handler{{Name: "nvidia"}, {Name: "runc"}}, RenewedAt: metav1.NewTime(now.Add(-time.Minute)),
			}}
			for _, change := range test.changes {
				change(node, report)
			}
			if test.none {
				report = nil
			}
			marks := MarksOf(node, report, o, now)
			var labels []string
			for key, value := range marks.Labels {
				sign := "-"
				if value != nil {
					sign = "+"
				}
				labels = insert(labels, sign+strings.TrimPrefix(key, HandlerLabelPrefix))
			}
			if got := strings.Join(labels, " "); got != test.labels {
				t.Errorf("labels: got %q, want %q", got, test.labels)
			}
			if c := marks.Condition; c.Type != HandlersReady || c.Status != test.status || c.Reason != test.reason || c.Message == "" {
				t.Errorf("condition: got %+v, want %s %s", c, test.status, test.reason)
			}
			if got := marks.Again.Truncate(time.Minute); got != test.again {
				t.Errorf("again: got %s, want %s", got, test.again)
			}
		})
	}
}
