package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory"
)

// benchNode is one of a cluster of some pools, of which every tenth has GPUs.
func benchNode(i int) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("node-%06d", i),
		Labels: map[string]string{
			corev1.LabelHostname: fmt.Sprintf("node-%06d", i), corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3), "example.com/pool": fmt.Sprintf("pool-%d", i%20),
		},
		CreationTimestamp: metav1.NewTime(reportNow.Add(-time.Hour)),
	}}
	node.Status.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Name: ""}, {Name: "runc"}}
	if i%10 == 0 {
		node.Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule}}
		node.Status.RuntimeHandlers = append(node.Status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: "nvidia"})
	}
	return node
}

// BenchmarkVerdict judges Pods by clusters in which a tenth of the nodes have the
// handler, from the decoded Pod on and as a whole review, in ratio to which the
// floor is the decoding of the Pod alone.
func BenchmarkVerdict(b *testing.B) {
	classes := map[string]*nodev1.RuntimeClass{}
	for name, handler := range map[string]string{"allow": "runc", "warn": "nvidia", "deny": "nvidia-typo"} {
		classes[name] = &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: handler}
	}
	find := func(_ context.Context, name string) (*nodev1.RuntimeClass, error) { return classes[name], nil }
	for _, size := range []int{100, 5000, 100000} {
		index := inventory.NewIndex(inventory.DefaultOptions)
		for i := range size {
			index.SetNode(benchNode(i))
		}
		gate := &Gate{Index: index, Class: find, LiveClass: find, Rules: noRules, MaxAction: Deny, Now: func() time.Time { return reportNow }}
		reviewer := &PodReviewer{Gate: gate, Decided: undecided}
		for _, class := range []string{"allow", "warn", "deny"} {
			pod := &corev1.Pod{Spec: corev1.PodSpec{
				RuntimeClassName: &class, Containers: []corev1.Container{{Name: "main", Image: "main"}},
				NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
				Tolerations:  []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}},
			}}
			raw, err := json.Marshal(pod)
			if err != nil {
				b.Fatal(err)
			}
			request := &admissionv1.AdmissionRequest{Operation: admissionv1.Create, Kind: kindFor(reviewer)}
			request.Object.Raw = raw
			b.Run(fmt.Sprintf("%s/%d nodes/verdict", class, size), func(b *testing.B) {
				for b.Loop() {
					gate.Pod(b.Context(), "default", pod)
				}
			})
			b.Run(fmt.Sprintf("%s/%d nodes/review", class, size), func(b *testing.B) {
				for b.Loop() {
					if _, err := reviewer.Review(b.Context(), request); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	b.Run("floor", func(b *testing.B) {
		raw := []byte(`{"spec": {"runtimeClassName": "allow", "containers": [{"name": "main", "image": "main"}]}}`)
		for b.Loop() {
			if err := json.Unmarshal(raw, &corev1.Pod{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
