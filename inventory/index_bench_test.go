package inventory

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkCoverage asks about a cluster of 5,000 nodes, a tenth of them with
// GPUs and a taint.
func BenchmarkCoverage(b *testing.B) {
	now := time.Now()
	index := NewIndex(DefaultOptions)
	for i := range 5000 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:              fmt.Sprintf("node-%04d", i),
			Labels:            map[string]string{"kubernetes.io/os": "linux", "zone": string(rune('a' + i%3))},
			CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		}}
		node.Status.Allocatable = quantities("pods", "110", "cpu", "31850m", "memory", "120Gi", "ephemeral-storage", "80Gi")
		node.Status.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Name: ""}, {Name: "runc"}}
		if i%10 == 0 {
			node.Labels["gpu"] = "true"
			node.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
			node.Status.Allocatable["nvidia.com/gpu"] = quantities("gpu", "8")["gpu"]
			node.Status.RuntimeHandlers = append(node.Status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: "nvidia"})
		}
		index.SetNode(node)
	}
	anywhere := requesting("cpu", "500m", "memory", "1Gi")
	selected := requesting("cpu", "4", "memory", "16Gi", "nvidia.com/gpu", "1")
	selected.NodeSelector = map[string]string{"gpu": "true"}
	selected.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	affine := requesting("cpu", "4", "nvidia.com/gpu", "1")
	affine.Affinity = required(labelled("gpu", corev1.NodeSelectorOpExists), labelled("zone", corev1.NodeSelectorOpIn, "a", "b"))
	affine.Tolerations = selected.Tolerations
	for _, bb := range []struct {
		name string
		spec corev1.PodSpec
	}{{"anywhere", anywhere}, {"nodeSelector", selected}, {"affinity", affine}} {
		b.Run(bb.name, func(b *testing.B) {
			pod := &corev1.Pod{Spec: bb.spec}
			for b.Loop() {
				index.Coverage(PlacementOf(pod), "nvidia", 0, now)
			}
		})
	}
}
