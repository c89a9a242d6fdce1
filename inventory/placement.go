package inventory

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
)

// A Placement is what of a Pod decides which nodes it may land on: nodeName,
// nodeSelector and required node affinity, tolerations, and requests. It is
// made once for a Pod and asked about many nodes.
//
// Its answers are those of the scheduler's filters for these on an empty node
// (e2e/schedulerdiff compares them), but for taints that come and go, which
// keep no Pod off, nor does a cordon. For a Pod that names its node they are
// those of the kubelet, since no scheduler sees that Pod.
//
// Other Pods, volumes, topology spread and resource claims are left out.
type Placement struct {
	nodeName    string
	selector    *selector // nil if it selects all nodes
	tolerations []corev1.Toleration
	anyTaint    bool
	requests    []request
	// bare are the requests without the overhead of the Pod's class; nil if it
	// has none.
	bare []request
}

// PlacementOf returns the Placement of a Pod that went through the API server's
// defaulting and RuntimeClass admission, so that limits stand for requests that
// it lacks, and the class's scheduling and overhead are merged into it.
func PlacementOf(pod *corev1.Pod) *Placement {
	p := &Placement{
		nodeName:    pod.Spec.NodeName,
		selector:    newSelector(pod.Spec.NodeSelector, pod.Spec.Affinity),
		tolerations: pod.Spec.Tolerations,
		// Whoever holds back a Pod may add tolerations before letting it go, as
		// Kueue does; its node selection can only become narrower.
		anyTaint: len(pod.Spec.SchedulingGates) > 0,
		requests: requestsOf(pod, resourcehelper.PodResourcesOptions{}),
	}
	if len(pod.Spec.Overhead) > 0 {
		p.bare = requestsOf(pod, resourcehelper.PodResourcesOptions{ExcludeOverhead: true})
	}
	return p
}

// ClassPlacement returns where Pods of a RuntimeClass with that nodeSelector
// may land by the class alone. With anyTaint no taint keeps them off, since a
// Pod may bring its own tolerations.
func ClassPlacement(nodeSelector map[string]string, tolerations []corev1.Toleration, anyTaint bool) *Placement {
	return &Placement{
		selector:    newSelector(nodeSelector, nil),
		tolerations: tolerations,
		anyTaint:    anyTaint,
	}
}

// An obstacle is what keeps a Pod off a node that it selects.
type obstacle int8

const (
	none obstacle = iota
	notTolerated
	tooSmall
	// notListed: the node offers none of an extended resource, which devices of
	// a DeviceClass may make up for. The Pod may land there or not.
	notListed
	// notToleratedAndTooSmall: neither a toleration nor more room is enough.
	notToleratedAndTooSmall
)

// untolerated returns the place of the first taint that keeps the Pod off,
// tolerated if none does.
func (p *Placement) untolerated(taints taintList) int {
	if p.anyTaint {
		return tolerated
	}
	for i := range taints {
		if taint := &taints[i].Taint; p.heeds(taint) && !p.tolerates(taint) {
			return i
		}
	}
	return tolerated
}

// heeds says whether a lasting taint keeps Pods off that do not tolerate it. The kubelet
// admits a Pod that names its node whatever the NoSchedule taints.
func (p *Placement) heeds(taint *corev1.Taint) bool {
	return p.nodeName == "" || taint.Effect == corev1.TaintEffectNoExecute
}

// tolerates takes the operators Gt and Lt as meant. They are behind the feature
// gate TaintTolerationComparisonOperators (alpha and off in 1.37): where it is
// off, the API server's validation refuses a new Pod that has them, before any
// webhook is asked. Values that are no numbers tolerate nothing; the helper
// would log that for every node.
func (p *Placement) tolerates(taint *corev1.Taint) bool {
	return schedulinghelper.TolerationsTolerateTaint(logr.Discard(), p.tolerations, taint, true)
}
