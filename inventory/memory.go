package inventory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/cri"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// silentAfter is how long a runtime must not answer to be reported silent: a
// restart takes less.
const silentAfter = 10 * time.Second

// A memory is what an Agent knows of what it has published.
type memory struct {
	node string
	// published is what the cluster has; nil for nothing.
	published *v1alpha1.NodeRuntime
	// renewBy is when it must be written again even if nothing has changed.
	renewBy time.Time
	// seen is what the runtime told last, written or not; nil for nothing.
	seen *v1alpha1.NodeRuntime
	// observed is when the runtime last answered, and missing since when it has
	// not; zero while it does.
	observed metav1.Time
	missing  time.Time
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
	if last := m.last(); last != nil {
		seen.Before = &last.Spec
	}
}

// last is the last report that is known; nil for none.
func (m *memory) last() *v1alpha1.NodeRuntime {
	if m.seen != nil {
		return m.seen
	}
	return m.published
}

// isSilent says whether the runtime counts as silent.
func (m *memory) isSilent(now time.Time) bool {
	return !m.missing.IsZero() && now.Sub(m.missing) >= silentAfter
}

// after returns what is to be published after a look that gave a report or
// failed; nil for nothing.
func (m *memory) after(report *v1alpha1.NodeRuntime, failure error, now time.Time) *v1alpha1.NodeRuntime {
	if failure != nil {
		if m.missing.IsZero() {
			m.missing = now
		}
		report = m.silent(failure, now)
	} else {
		m.missing, m.observed, m.seen = time.Time{}, report.Spec.ObservedAt, report.DeepCopy()
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
func (m *memory) silent(failure error, now time.Time) *v1alpha1.NodeRuntime {
	report := &v1alpha1.NodeRuntime{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeRuntime"},
		ObjectMeta: metav1.ObjectMeta{Name: m.node},
		Spec:       v1alpha1.NodeRuntimeSpec{Source: v1alpha1.SourceCRI},
	}
	known := m.last()
	if known != nil {
		known.Spec.DeepCopyInto(&report.Spec)
	}
	if !m.isSilent(now) {
		if known == nil {
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
	for i := range said { // what was to come has come
		said[i].Message = strings.ReplaceAll(said[i].Message, config.FixBeforeRestart, "mend this, then start the runtime")
	}
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
	case cri.Unreachable:
		add(v1alpha1.FindingRuntimeUnreachable, "the runtime does not answer; %s: %v", last, failure)
	default:
		add(v1alpha1.FindingRuntimeUnreachable, "the runtime does not tell what it has loaded; %s: %v", last, failure)
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

// unwritten notes that a report may not have been published. Whether it was is
// not known after a time-out: whatever the next look sees is written.
func (m *memory) unwritten() { m.renewBy = time.Time{} }

// written notes that a report was published.
func (m *memory) written(report *v1alpha1.NodeRuntime, renewBy time.Time) {
	m.published, m.renewBy = report, renewBy
}

// restore takes over what a process before has published. The time of that
// writing decides how long it holds, but not one from the future.
func (m *memory) restore(report *v1alpha1.NodeRuntime, heartbeat time.Duration, now time.Time) {
	m.published, m.observed = report, report.Spec.ObservedAt
	renewed := report.Spec.RenewedAt.Time
	if renewed.After(now) {
		renewed = now
	}
	m.renewBy = renewed.Add(heartbeat)
	if slices.ContainsFunc(report.Spec.Findings, func(f v1alpha1.Finding) bool { return f.Code == v1alpha1.FindingRuntimeUnreachable }) {
		m.missing = now.Add(-silentAfter)
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
