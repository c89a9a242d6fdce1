package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestIsLasting(t *testing.T) {
	const (
		noSchedule = corev1.TaintEffectNoSchedule
		noExecute  = corev1.TaintEffectNoExecute
	)
	tests := []struct {
		key    string
		effect corev1.TaintEffect
		want   bool
	}{
		{"dedicated", noSchedule, true},
		{"dedicated", noExecute, true},
		{"dedicated", corev1.TaintEffectPreferNoSchedule, false},
		{"dedicated", "", false},
		{"node-role.kubernetes.io/control-plane", noSchedule, true},
		{"node.kubernetes.io", noSchedule, true},
		{"example.com/node.kubernetes.io/not-ready", noSchedule, true},
		{"karpenter.sh/other", noSchedule, true},
		{"node.cilium.io/agent-not-ready/x", noSchedule, true},
		{corev1.TaintNodeNotReady, noExecute, false},
		{corev1.TaintNodeUnschedulable, noSchedule, false},
		{"node.cloudprovider.kubernetes.io/uninitialized", noSchedule, false},
		{"ToBeDeletedByClusterAutoscaler", noSchedule, false},
		{"startup-taint.cluster-autoscaler.kubernetes.io/gpu", noSchedule, false},
		{"karpenter.sh/unregistered", noExecute, false},
		{"node.cilium.io/agent-not-ready", noExecute, false},
		{"ebs.csi.aws.com/agent-not-ready", noExecute, false},
		{"efs.csi.aws.com/agent-not-ready", noExecute, false},
		{"node.cluster.x-k8s.io/uninitialized", noSchedule, false},
		{"cloud.google.com/impending-node-termination", noSchedule, false},
		{"aws-node-termination-handler/spot-itn", noSchedule, false},
		{"readiness.k8s.io/storage", noSchedule, false},
	}
	for _, tt := range tests {
		if got := isLasting(&corev1.Taint{Key: tt.key, Effect: tt.effect}); got != tt.want {
			t.Errorf("isLasting(%s:%s) = %t", tt.key, tt.effect, got)
		}
	}
}
