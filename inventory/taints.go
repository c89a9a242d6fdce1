package inventory

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Taints that come and go in the life of a node. A node that has one is out of
// the scheduler's sight for the moment only, so it stays a candidate: without
// it a Pod could be denied that would start a minute later.
var (
	passingTaints = []string{
		// Cluster Autoscaler 1.30: nodes that it is about to remove, or may.
		"ToBeDeletedByClusterAutoscaler",
		"DeletionCandidateOfClusterAutoscaler",
		// Karpenter 1.x: nodes that are not yet, or no more, its to use.
		"karpenter.sh/unregistered",
		"karpenter.sh/disrupted",
		"karpenter.sh/disruption",
		// Start-up taints: until the agent of Cilium 1.x or a CSI driver of AWS
		// runs on the node, or Cluster API has labelled it.
		"node.cilium.io/agent-not-ready",
		"ebs.csi.aws.com/agent-not-ready",
		"efs.csi.aws.com/agent-not-ready",
		"node.cluster.x-k8s.io/uninitialized",
		// GKE: a spot or preemptible node about to go.
		"cloud.google.com/impending-node-termination",
	}
	passingTaintPrefixes = []string{
		// Node lifecycle: not-ready, unreachable, unschedulable (a cordon),
		// memory-pressure and the like; set by the control plane.
		"node.kubernetes.io/",
		// Cloud controller managers: uninitialized, shutdown.
		"node.cloudprovider.kubernetes.io/",
		// Start-up, status and ignored taints by the Cluster Autoscaler's names.
		"startup-taint.cluster-autoscaler.kubernetes.io/",
		"status-taint.cluster-autoscaler.kubernetes.io/",
		"ignore-taint.cluster-autoscaler.kubernetes.io/",
		// AWS Node Termination Handler: spot-itn, scheduled-maintenance and the like.
		"aws-node-termination-handler/",
		// node-readiness-controller: until the node's conditions are met.
		"readiness.k8s.io/",
	}
)

// isLasting says whether a taint keeps Pods off a node for good: NoSchedule or
// NoExecute, and none of those that come and go.
func isLasting(taint *corev1.Taint) bool {
	if taint.Effect != corev1.TaintEffectNoSchedule && taint.Effect != corev1.TaintEffectNoExecute {
		return false
	}
	if slices.Contains(passingTaints, taint.Key) {
		return false
	}
	return !slices.ContainsFunc(passingTaintPrefixes, func(prefix string) bool {
		return strings.HasPrefix(taint.Key, prefix)
	})
}

// A taintList is the lasting taints of a node, in its order.
type taintList []lastingTaint

// A lastingTaint is a taint and its text, by which taints are sorted.
type lastingTaint struct {
	corev1.Taint
	text string
}

// takeTaints returns the taintList of a node. When a taint was added says nothing
// of what it does.
func (x *Index) takeTaints(taints []corev1.Taint) *pooled[taintList] {
	s := x.signature[:0]
	for i := range taints {
		if taint := &taints[i]; isLasting(taint) {
			s = s.text(taint.Key).text(taint.Value).text(string(taint.Effect))
		}
	}
	x.signature = s
	return x.taints.take(s, func() (list taintList) {
		for i := range taints {
			if taint := &taints[i]; isLasting(taint) {
				list = append(list, lastingTaint{corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect}, taint.ToString()})
			}
		}
		return list
	})
}
