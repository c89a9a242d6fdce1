package why

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/webhook/kubeletevents"
)

// stages are how far a Pod has come that has an Event with that reason
// (kubernetes 1.37, pkg/kubelet/events). A container that cannot be made is tried
// again from its image on, so only one that was started is further.
var stages = map[string]int{
	"FailedScheduling": 1,
	"Scheduled":        2, "FailedCreatePodSandBox": 2, "FailedPodSandBoxStatus": 2, "SandboxChanged": 2,
	"Pulling": 3, "Pulled": 3, "BackOff": 3, "Created": 3, "Failed": 3,
	"Started": 4,
}

// retold is the time within which the kubelet tells again of what still fails: an
// Event that repeats itself too often gets through once in 5 minutes (client-go,
// tools/record, defaultSpamQPS).
const retold = 6 * time.Minute

// isPast says whether what an Event says is known to be over.
func (a *asker) isPast(e *corev1.Event, m *kubeletevents.Meaning) bool {
	if a.isUp() {
		return true
	}
	if pod := a.podOf(e); m.Cause == kubeletevents.Unschedulable && pod != nil && pod.Spec.NodeName != "" {
		return true
	}
	if timeOf(e).IsZero() {
		return false
	}
	return slices.ContainsFunc(a.Events, func(later corev1.Event) bool { return isFurther(&later, e) }) || a.isOutdated(e, m)
}

// isFurther says whether a later Event of the same object shows that it has come
// further than an earlier one says.
func isFurther(later, e *corev1.Event) bool {
	on, before := later.InvolvedObject, e.InvolvedObject
	stage, known := stages[e.Reason]
	return known && stages[later.Reason] > stage && on.Kind == before.Kind && on.Name == before.Name &&
		(before.FieldPath == "" || on.FieldPath == before.FieldPath) && timeOf(later).After(timeOf(e))
}

// isOutdated says whether the node's runtime has answered since, and has what an
// Event says that it lacks.
func (a *asker) isOutdated(e *corev1.Event, m *kubeletevents.Meaning) bool {
	n := a.nodeOf(e)
	if n == nil || n.Freshness != inventory.Fresh || n.Report.Spec.ObservedAt.Sub(timeOf(e)) < retold {
		return false
	}
	handler := a.chain.Ask.Handler
	if m.Handler != "" {
		handler = m.Handler
	}
	t := n.Truth(handler)
	switch m.Cause {
	case kubeletevents.RuntimeDown:
		return true
	case kubeletevents.NotLoaded:
		return t.Loaded == fleet.Yes
	case kubeletevents.ShimMissing, kubeletevents.BinaryMissing:
		return t.Loaded == fleet.Yes && t.Runnable == fleet.Yes
	}
	return false
}

// podOf is the Pod that an Event is about; nil if it is not known.
func (a *asker) podOf(e *corev1.Event) *corev1.Pod {
	if e.InvolvedObject.Kind != "Pod" {
		return nil
	}
	if pod, ok := a.Object.(*corev1.Pod); ok {
		return pod
	}
	for _, pod := range a.Pods {
		if pod.Name == e.InvolvedObject.Name {
			return pod
		}
	}
	return nil
}

// nodeOf is the node on which an Event happened, as far as it is known.
func (a *asker) nodeOf(e *corev1.Event) *fleet.Node {
	name := e.Source.Host
	if pod := a.podOf(e); name == "" && pod != nil {
		name = pod.Spec.NodeName
	}
	return a.fleet.Node(name)
}

// endpointOf is the CRI socket of the node of an Event, as its report has it.
func (a *asker) endpointOf(e *corev1.Event) string {
	if n := a.nodeOf(e); n != nil && n.Report != nil {
		return n.Report.Spec.Runtime.Endpoint
	}
	return ""
}
