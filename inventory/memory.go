package inventory

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// silentAfter is how many looks in a row a runtime must miss to be reported
// silent. A restart takes no longer than one.
const silentAfter = 2

// A memory is what an Agent knows of what it has published.
type memory struct {
	node string
	// published is what the cluster has; nil for nothing.
	published *v1alpha1.NodeRuntime
	// renewBy is when it must be written again even if nothing has changed.
	renewBy time.Time
	// observed is when the runtime last answered, and missed how many looks have
	// had no answer since.
	observed metav1.Time
	missed   int
}

// after returns what is to be published after a look that gave a report or
// failed; nil for nothing.
func (m *memory) after(report *v1alpha1.NodeRuntime, failure error, now time.Time) *v1alpha1.NodeRuntime {
	if failure != nil {
		m.missed++
		report = m.silent(failure)
	} else {
		m.missed, m.observed = 0, report.Spec.ObservedAt
	}
	switch {
	case report == nil:
		return nil
	case m.published != nil && sameContent(&m.published.Spec, &report.Spec) && now.Before(m.renewBy):
		return nil
	}
	report.Spec.ObservedAt = m.observed
	report.Spec.RenewedAt = metav1.NewTime(now).Rfc3339Copy()
	return report
}

// silent is the report of a runtime that does not answer: what it said last,
// with a finding. Without anything said before there is nothing to report; that
// is not the same as a runtime without handlers.
func (m *memory) silent(failure error) *v1alpha1.NodeRuntime {
	if m.published == nil {
		return nil
	}
	report := &v1alpha1.NodeRuntime{TypeMeta: m.published.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: m.node}}
	m.published.Spec.DeepCopyInto(&report.Spec)
	if m.missed < silentAfter {
		return report
	}
	spec := &report.Spec
	spec.Findings = slices.DeleteFunc(spec.Findings, func(f v1alpha1.Finding) bool { return f.Code == v1alpha1.FindingRuntimeUnreachable })
	spec.Findings = slices.Insert(spec.Findings, 0, v1alpha1.Finding{
		Code: v1alpha1.FindingRuntimeUnreachable, Severity: v1alpha1.SeverityError,
		Message: cut(oneLine(fmt.Sprintf("the runtime does not answer; the handlers are those of its last answer: %v", failure)), v1alpha1.MaxMessage),
	})
	spec.Findings = spec.Findings[:min(len(spec.Findings), v1alpha1.MaxFindings)]
	spec.Summary = summarize(spec)
	return report
}

// written notes that a report was published.
func (m *memory) written(report *v1alpha1.NodeRuntime, renewBy time.Time) {
	m.published, m.renewBy = report, renewBy
}

// restore takes over what a process before has published. The time of that
// writing decides how long it holds.
func (m *memory) restore(report *v1alpha1.NodeRuntime, heartbeat time.Duration) {
	m.published, m.observed = report, report.Spec.ObservedAt
	m.renewBy = report.Spec.RenewedAt.Add(heartbeat)
	if slices.ContainsFunc(report.Spec.Findings, func(f v1alpha1.Finding) bool { return f.Code == v1alpha1.FindingRuntimeUnreachable }) {
		m.missed = silentAfter
	}
}

// sameContent compares all but the times of observation and writing.
func sameContent(a, b *v1alpha1.NodeRuntimeSpec) bool {
	x, y := *a, *b
	x.ObservedAt, x.RenewedAt, y.ObservedAt, y.RenewedAt = metav1.Time{}, metav1.Time{}, metav1.Time{}, metav1.Time{}
	return equality.Semantic.DeepEqual(x, y)
}

// jittered is a duration that differs from d by up to a fifth, for a random
// number from 0 to 1: so that the reporters of a cluster don't write at once.
func jittered(d time.Duration, random float64) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*random))
}
