package inventory

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/cri"
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
	// starts are the starts of the runtime within the last stormTime, oldest first.
	starts []time.Time
}

// recall adds to a look what is known from before.
func (m *memory) recall(seen *Observation) {
	if n := len(m.starts); !seen.StartedAt.IsZero() && (n == 0 || !m.starts[n-1].Equal(seen.StartedAt)) {
		m.starts = append(m.starts, seen.StartedAt)
	}
	m.starts = slices.DeleteFunc(m.starts, func(start time.Time) bool { return seen.At.Sub(start) > stormTime })
	seen.Starts = m.starts
	if m.published != nil {
		seen.Before = &m.published.Spec
	}
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
// with findings. Of one that has never answered they are all there is, which is
// not the same as a runtime without handlers.
func (m *memory) silent(failure error) *v1alpha1.NodeRuntime {
	report := &v1alpha1.NodeRuntime{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeRuntime"},
		ObjectMeta: metav1.ObjectMeta{Name: m.node},
		Spec:       v1alpha1.NodeRuntimeSpec{Source: v1alpha1.SourceCRI},
	}
	if m.published != nil {
		m.published.Spec.DeepCopyInto(&report.Spec)
	}
	if m.missed < silentAfter {
		if m.published == nil {
			return nil
		}
		return report
	}
	spec := &report.Spec
	last := "it has never told what it has loaded"
	if len(spec.Handlers) > 0 {
		last = "the handlers are those of its last answer"
	}
	said := slices.DeleteFunc(spec.Findings, func(f v1alpha1.Finding) bool { return ofSilence(f.Code, f.File) })
	spec.Findings = nil
	add := func(code, format string, args ...any) {
		spec.Findings = append(spec.Findings, v1alpha1.Finding{
			Code: code, Severity: v1alpha1.SeverityError, Message: cut(oneLine(fmt.Sprintf(format, args...)), v1alpha1.MaxMessage),
		})
	}
	// That no list can be relied on is one thing, what is wrong another.
	switch cri.ReasonOf(failure) {
	case cri.CRIDisabled:
		add(v1alpha1.FindingRuntimeUnreachable, "the runtime serves no CRI; %s", last)
		add(config.CodeCRIDisabled, "%v", failure)
	case cri.V1Alpha2Only:
		add(v1alpha1.FindingRuntimeUnreachable, "the runtime does not speak version 1 of the CRI; %s", last)
		add(v1alpha1.FindingCRITooOld, "%v", failure)
	default:
		add(v1alpha1.FindingRuntimeUnreachable, "the runtime does not answer; %s: %v", last, failure)
	}
	spec.Findings = append(spec.Findings, said...)
	spec.Findings = spec.Findings[:min(len(spec.Findings), v1alpha1.MaxFindings)]
	spec.Summary = summarize(spec)
	return report
}

// ofSilence tells the findings that silent adds. A finding CRIDisabled about a
// file is about the next start.
func ofSilence(code, file string) bool {
	return code == v1alpha1.FindingRuntimeUnreachable || code == v1alpha1.FindingCRITooOld || code == config.CodeCRIDisabled && file == ""
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
