package inventory

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// HandlerLabelPrefix begins the labels of a Node that say which handlers can run
// Pods there: handler.runtimegate.io/<handler>: "true".
const HandlerLabelPrefix = "handler.runtimegate.io/"

// HandlerLabelValue is the value of these labels.
const HandlerLabelValue = "true"

// HandlersReady is the type of the Node condition that says whether all handlers
// which the node's runtime has, or had, can run Pods.
const HandlersReady corev1.NodeConditionType = "RuntimeHandlersReady"

// Reasons of HandlersReady, beside the codes of findings.
const (
	// ReasonHandlersLoaded: nothing is wrong.
	ReasonHandlersLoaded = "HandlersLoaded"
	// ReasonNotReported: nobody has told what the runtime has loaded.
	ReasonNotReported = "NotReported"
	// ReasonReportStale: what was told is too old to count.
	ReasonReportStale = "ReportStale"
)

// Marks are what can be put on a Node, for schedulers and for people.
type Marks struct {
	// Labels are those to set, by their keys, and nil for one to take away. One of
	// a handler of which nothing is known is left as it is: the Pods that it lets
	// onto the node may well run there.
	Labels map[string]*string
	// Condition is HandlersReady, without its times.
	Condition corev1.NodeCondition
	// Again is after how long the marks may be others though nothing has changed;
	// 0 for never.
	Again time.Duration
}

// MarksOf returns the marks of a Node at the time now, by its NodeRuntime; nil
// if it has none.
func MarksOf(object *corev1.Node, report *v1alpha1.NodeRuntime, o Options, now time.Time) Marks {
	n := &node{created: object.CreationTimestamp.Time}
	if report != nil {
		n.report, n.renewed = &pooled[reported]{of: reportedOf(&report.Spec)}, report.Spec.RenewedAt.Time
	}
	v := newView(viewKey{
		listing: &pooled[listing]{of: listingOf(&object.Status)}, report: n.report,
		current: n.isCurrent(now, &o), young: n.isYoung(now, &o),
	})
	marks := Marks{Labels: map[string]*string{}, Condition: v.condition(report)}
	value := HandlerLabelValue
	for _, handler := range v.loaded {
		key := HandlerLabelPrefix + handler
		// A RuntimeClass names no other handlers than these.
		if len(validation.IsDNS1123Label(handler)) == 0 && v.canRun(handler) && object.Labels[key] != value {
			marks.Labels[key] = &value
		}
	}
	for key := range object.Labels {
		handler, is := strings.CutPrefix(key, HandlerLabelPrefix)
		if is && !v.canRun(handler) && v.state(handler) != Unknown {
			marks.Labels[key] = nil
		}
	}
	if _, next := n.changes(now, &o); !next.IsZero() {
		marks.Again = next.Sub(now)
	}
	return marks
}

// canRun says whether the runtime has a handler, and what it runs Pods with is
// there. Until the next start of the runtime, one that is Expiring does.
func (v *view) canRun(handler string) bool {
	state := v.state(handler)
	return state == Loaded || state == Expiring
}

// condition is HandlersReady by the node's report.
func (v *view) condition(report *v1alpha1.NodeRuntime) corev1.NodeCondition {
	is := func(status corev1.ConditionStatus, reason, format string, args ...any) corev1.NodeCondition {
		return corev1.NodeCondition{Type: HandlersReady, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	if report == nil {
		return is(corev1.ConditionUnknown, ReasonNotReported, "no reporter has told what the runtime has loaded")
	}
	if !v.current {
		return is(corev1.ConditionUnknown, ReasonReportStale, "the last report is of %s", report.Spec.RenewedAt.UTC().Format(time.RFC3339))
	}
	// The most severe come first.
	for _, f := range report.Spec.Findings {
		if f.Severity == v1alpha1.SeverityError || f.Code == v1alpha1.FindingBroken {
			return is(corev1.ConditionFalse, f.Code, "%s", f.Message)
		}
	}
	switch {
	case len(v.reported.handlers) == 0:
		return is(corev1.ConditionUnknown, ReasonNotReported, "the reporter does not know what the runtime has loaded")
	case v.fromDump && (len(v.listing.handlers) == 0 || !v.ready):
		return is(corev1.ConditionUnknown, ReasonNotReported, "only what the runtime's files would load is known")
	}
	return is(corev1.ConditionTrue, ReasonHandlersLoaded, "loaded: %s", strings.Join(v.loaded, ", "))
}
