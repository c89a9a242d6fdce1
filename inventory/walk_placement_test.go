package inventory

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// A walkedPlacement is what of a Pod decides which nodes it may land on: nodeName,
// nodeSelector and required node affinity, tolerations, and requests. It is
// made once for a Pod and asked about many nodes.
//
// Its answers are those of the scheduler's filters for these on an empty node
// (e2e/schedulerdiff compares them), but for taints that come and go, which
// keep no Pod off, nor does a cordon. For a Pod that names its node they are
// those of the kubelet, since no scheduler sees that Pod.
//
// Other Pods, volumes, topology spread and resource claims are left out.
type walkedPlacement struct {
	nodeName    string
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
	anyTaint    bool
	requests    []request
	// bare are the requests without the overhead of the Pod's class; nil if it
	// has none.
	bare []request
}

// walkedPlacementOf returns the Placement of a Pod that went through the API server's
// defaulting and RuntimeClass admission, so that limits stand for requests that
// it lacks, and the class's scheduling and overhead are merged into it.
func walkedPlacementOf(pod *corev1.Pod) *walkedPlacement {
	p := &walkedPlacement{
		nodeName:    pod.Spec.NodeName,
		affinity:    nodeaffinity.GetRequiredNodeAffinity(pod),
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

// walkedClassPlacement returns where Pods of a RuntimeClass with that nodeSelector
// may land by the class alone. With anyTaint no taint keeps them off, since a
// Pod may bring its own tolerations.
func walkedClassPlacement(nodeSelector map[string]string, tolerations []corev1.Toleration, anyTaint bool) *walkedPlacement {
	return &walkedPlacement{
		affinity:    nodeaffinity.NewRequiredNodeAffinity(nodeSelector, nil),
		tolerations: tolerations,
		anyTaint:    anyTaint,
	}
}

// The obstacles that an Index does not tell apart.
const (
	otherNode obstacle = iota + 100
	notSelected
)

// obstacle returns what keeps the Pod off the node, and the taint if it is one.
func (p *walkedPlacement) obstacle(node *corev1.Node) (obstacle, corev1.Taint) {
	if p.nodeName != "" && p.nodeName != node.Name {
		return otherNode, corev1.Taint{}
	}
	// A term that cannot be parsed matches nothing, and its error is passed over:
	// the scheduler and the kubelet do the same.
	if ok, _ := p.affinity.Match(node); !ok {
		return notSelected, corev1.Taint{}
	}
	room := p.room(p.requests, node.Status.Allocatable)
	taint := p.untolerated(node.Spec.Taints)
	switch {
	case taint == nil:
		return room, corev1.Taint{}
	case room == tooSmall:
		return notToleratedAndTooSmall, corev1.Taint{}
	}
	return notTolerated, *taint
}

// untolerated returns the first taint that keeps the Pod off, nil if none does.
func (p *walkedPlacement) untolerated(taints []corev1.Taint) *corev1.Taint {
	if p.anyTaint {
		return nil
	}
	for i := range taints {
		if taint := &taints[i]; p.heeds(taint) && !p.tolerates(taint) {
			return taint
		}
	}
	return nil
}

// heeds says whether a taint keeps Pods off that do not tolerate it. The kubelet
// admits a Pod that names its node whatever the NoSchedule taints.
func (p *walkedPlacement) heeds(taint *corev1.Taint) bool {
	return isLasting(taint) && (p.nodeName == "" || taint.Effect == corev1.TaintEffectNoExecute)
}

// tolerates takes the operators Gt and Lt as meant. They are behind the feature
// gate TaintTolerationComparisonOperators (alpha and off in 1.37): where it is
// off, the API server's validation refuses a new Pod that has them, before any
// webhook is asked. Values that are no numbers tolerate nothing; the helper
// would log that for every node.
func (p *walkedPlacement) tolerates(taint *corev1.Taint) bool {
	return schedulinghelper.TolerationsTolerateTaint(logr.Discard(), p.tolerations, taint, true)
}

// room returns tooSmall if the requests do not fit a node with nothing on it,
// and notListed if a DeviceClass may make up for what it lacks.
//
// A node that offers nothing at all is not ruled out, though the scheduler
// would: a kubelet says what it offers when it registers, so this is a node
// told of by something else, which has left that out.
func (p *walkedPlacement) room(requests []request, allocatable corev1.ResourceList) obstacle {
	if len(allocatable) == 0 {
		return none
	}
	if amountOf(corev1.ResourcePods, allocatable[corev1.ResourcePods]) < 1 {
		return tooSmall
	}
	room := none
	for i := range requests {
		want := &requests[i]
		quantity, listed := allocatable[want.name]
		have := amountOf(want.name, quantity)
		switch {
		case want.amount <= have:
		case p.nodeName != "":
			// The kubelet passes over extended resources that its node does not
			// list (removeMissingExtendedResources).
			if listed || !want.extended {
				return tooSmall
			}
		case want.devices && have <= 0:
			// NodeResourcesFit leaves it to the plugin DynamicResources if there is
			// a DeviceClass for it (shouldDelegateResourceToDRA; DRAExtendedResource
			// is on from 1.36).
			room = notListed
		default:
			return tooSmall
		}
	}
	return room
}

// fitsBare says whether a node that is too small for the Pod would not be,
// were it not for the overhead of the Pod's class.
func (p *walkedPlacement) fitsBare(allocatable corev1.ResourceList) bool {
	return p.bare != nil && p.room(p.bare, allocatable) != tooSmall
}
