package inventory

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// A Placement is what of a Pod decides which nodes it may land on: nodeName,
// nodeSelector and required node affinity, tolerations, and requests. It is
// made once for a Pod and asked about many nodes.
//
// It is wider than what the scheduler allows: other Pods, volumes, topology
// spread and resource claims are left out.
type Placement struct {
	nodeName    string
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
	anyTaint    bool
	requests    corev1.ResourceList
}

// PlacementOf returns the Placement of a Pod that went through the API server's
// RuntimeClass admission, so that the class's scheduling and overhead are
// merged into it.
func PlacementOf(pod *corev1.Pod) *Placement {
	return &Placement{
		nodeName:    pod.Spec.NodeName,
		affinity:    nodeaffinity.GetRequiredNodeAffinity(pod),
		tolerations: pod.Spec.Tolerations,
		requests:    resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}),
	}
}

// ClassPlacement returns where Pods of a RuntimeClass with that nodeSelector
// may land by the class alone. Without tolerations any taint is tolerated,
// since a Pod may bring its own tolerations.
func ClassPlacement(nodeSelector map[string]string, tolerations []corev1.Toleration, anyTaint bool) *Placement {
	return &Placement{
		affinity:    nodeaffinity.NewRequiredNodeAffinity(nodeSelector, nil),
		tolerations: tolerations,
		anyTaint:    anyTaint,
	}
}

// An obstacle is what keeps a Pod off a node.
type obstacle int

const (
	none obstacle = iota
	otherNode
	notSelected
	notTolerated
	tooSmall
)

// obstacle returns the first thing that keeps the Pod off the node, and the
// taint if it is one.
func (p *Placement) obstacle(node *corev1.Node) (obstacle, corev1.Taint) {
	if p.nodeName != "" && p.nodeName != node.Name {
		return otherNode, corev1.Taint{}
	}
	// An affinity that cannot be parsed matches nothing, for the scheduler too;
	// the API server's validation lets none pass.
	if ok, _ := p.affinity.Match(node); !ok {
		return notSelected, corev1.Taint{}
	}
	// A Pod that names its node bypasses the scheduler. The kubelet then heeds
	// NoExecute taints only, and resources.
	if taint, found := p.untolerated(node); found {
		return notTolerated, taint
	}
	if !p.fits(node.Status.Allocatable) {
		return tooSmall, corev1.Taint{}
	}
	return none, corev1.Taint{}
}

func (p *Placement) untolerated(node *corev1.Node) (corev1.Taint, bool) {
	if p.anyTaint || len(node.Spec.Taints) == 0 {
		return corev1.Taint{}, false
	}
	blocks := isLasting
	if p.nodeName != "" {
		blocks = func(taint *corev1.Taint) bool {
			return taint.Effect == corev1.TaintEffectNoExecute && isLasting(taint)
		}
	}
	// Comparison operators (Gt, Lt) are a feature gate of the cluster, beta in
	// 1.37: taken as on, since a toleration that has them is refused otherwise.
	return schedulinghelper.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, p.tolerations, blocks, true)
}

// fits says whether the requests fit an empty node. A node that does not tell
// what it has (its kubelet has not reported yet) is not ruled out.
func (p *Placement) fits(allocatable corev1.ResourceList) bool {
	if len(allocatable) == 0 {
		return true
	}
	if pods := allocatable[corev1.ResourcePods]; pods.Sign() <= 0 {
		return false
	}
	for name, want := range p.requests {
		if want.Sign() <= 0 {
			continue
		}
		if have := allocatable[name]; have.Cmp(want) < 0 {
			return false
		}
	}
	return true
}
