package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

func TestRoom(t *testing.T) {
	node := quantities("pods", "110", "cpu", "2", "memory", "1Gi", "ephemeral-storage", "10Gi", "hugepages-2Mi", "4Mi", "nvidia.com/gpu", "1")
	container := func(words ...string) corev1.Container { return requesting(words...).Containers[0] }
	always := corev1.ContainerRestartPolicyAlways
	sidecar := func(words ...string) corev1.Container {
		c := container(words...)
		c.RestartPolicy = &always
		return c
	}
	tests := []struct {
		name string
		node corev1.ResourceList
		spec corev1.PodSpec
		want obstacle
	}{
		{"asks for nothing", node, corev1.PodSpec{}, none},
		{"fits to the last", node, requesting("cpu", "2", "memory", "1024Mi", "ephemeral-storage", "10Gi", "hugepages-2Mi", "4Mi", "nvidia.com/gpu", "1"), none},
		{"a thousandth too much", node, requesting("cpu", "2001m"), tooSmall},
		{"a byte too much", node, requesting("memory", "1073741825"), tooSmall},
		{"parts of a byte round up", node, requesting("memory", "1073741824001m"), tooSmall},
		{"parts of a thousandth round up on both sides", quantities("pods", "1", "cpu", "1.0001"), requesting("cpu", "1.0009"), none},
		{"storage", node, requesting("ephemeral-storage", "11Gi"), tooSmall},
		{"huge pages that the node has not", node, requesting("hugepages-1Gi", "1Gi"), tooSmall},
		{"a native resource that the node has not", node, requesting("kubernetes.io/batch", "1"), tooSmall},
		{"volumes that the node has not", node, requesting("attachable-volumes-aws-ebs", "1"), tooSmall},
		{"devices by the name of their class", node, requesting("deviceclass.resource.kubernetes.io/gpu", "1"), notListed},
		{"zero of what the node has not", node, requesting("example.com/fpga", "0", "hugepages-1Gi", "0"), none},
		{"what the scheduler does not heed", node, requesting("pods", "500", "storage", "1Ti", "requests.nvidia.com/gpu", "9", "x", "1", "example.com/", "1"), none},

		{"containers add up", node, corev1.PodSpec{Containers: []corev1.Container{container("cpu", "1500m"), container("cpu", "600m")}}, tooSmall},
		{"init containers run one by one", node, corev1.PodSpec{
			InitContainers: []corev1.Container{container("cpu", "2"), container("cpu", "2")},
			Containers:     []corev1.Container{container("cpu", "1")}}, none},
		{"a sidecar runs beside the containers", node, corev1.PodSpec{
			InitContainers: []corev1.Container{sidecar("cpu", "1500m")},
			Containers:     []corev1.Container{container("cpu", "1")}}, tooSmall},
		{"a sidecar runs beside later init containers", node, corev1.PodSpec{
			InitContainers: []corev1.Container{sidecar("cpu", "500m"), container("cpu", "1600m")}}, tooSmall},
		{"a sidecar does not run beside earlier init containers", node, corev1.PodSpec{
			InitContainers: []corev1.Container{container("cpu", "1600m"), sidecar("cpu", "500m")}}, none},
		{"the Pod's own requests stand for its containers'", node, corev1.PodSpec{
			Resources:  &corev1.ResourceRequirements{Requests: quantities("cpu", "1")},
			Containers: []corev1.Container{container("cpu", "3")}}, none},
		{"overhead adds to them", node, corev1.PodSpec{
			Resources: &corev1.ResourceRequirements{Requests: quantities("cpu", "2")},
			Overhead:  quantities("cpu", "1m")}, tooSmall},

		{"a node with no room for Pods", quantities("cpu", "2", "pods", "0"), corev1.PodSpec{}, tooSmall},
		{"a node that does not say how many Pods", quantities("cpu", "2"), corev1.PodSpec{}, tooSmall},
		{"a node that says nothing", nil, requesting("cpu", "64"), none},
		{"a node that offers less than nothing", quantities("pods", "1", "nvidia.com/gpu", "-1"), requesting("nvidia.com/gpu", "1"), notListed},
		{"a named node whose devices are gone", quantities("pods", "1", "nvidia.com/gpu", "0"),
			corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{container("nvidia.com/gpu", "1")}}, tooSmall},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := PlacementOf(&corev1.Pod{Spec: tt.spec})
			if got := p.room(p.requests, roomOf(tt.node, nil)); got != tt.want {
				t.Errorf("room = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestPlacementOfLeavesThePodAlone(t *testing.T) {
	pod := &corev1.Pod{Spec: requesting("cpu", "0.5", "memory", "0.5Gi")}
	pod.Spec.Resources = &corev1.ResourceRequirements{Requests: quantities("cpu", "0.5", "memory", "0.5Gi")}
	pod.Spec.Overhead = quantities("cpu", "0.1", "memory", "0.5Gi")
	before := pod.DeepCopy()
	PlacementOf(pod)
	PlacementOf(pod)
	if !equality.Semantic.DeepEqual(before, pod) {
		t.Errorf("the Pod asks for %v now", pod.Spec.Resources.Requests)
	}
}

// A spec that others read too may be given requests.
func TestDefaultRequestsChangesNoShared(t *testing.T) {
	shared := corev1.PodSpec{
		Resources: &corev1.ResourceRequirements{Limits: quantities("cpu", "4", "memory", "4Gi")},
		Containers: []corev1.Container{
			{Resources: corev1.ResourceRequirements{Requests: quantities("cpu", "1"), Limits: quantities("cpu", "2", "memory", "1Gi")}},
			{Resources: corev1.ResourceRequirements{Requests: quantities("cpu", "1"), Limits: quantities("cpu", "2")}},
		},
		InitContainers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: quantities("cpu", "0.5Gi")}}},
	}
	before, spec := shared.DeepCopy(), shared
	DefaultRequests(&spec)
	if !equality.Semantic.DeepEqual(&shared, before) {
		t.Errorf("the spec is changed: %+v", shared)
	}
	for name, list := range map[string][2]corev1.ResourceList{
		"a container":       {spec.Containers[0].Resources.Requests, quantities("cpu", "1", "memory", "1Gi")},
		"a full container":  {spec.Containers[1].Resources.Requests, quantities("cpu", "1")},
		"an init container": {spec.InitContainers[0].Resources.Requests, quantities("cpu", "0.5Gi")},
		"the Pod":           {spec.Resources.Requests, quantities("cpu", "0.5Gi", "memory", "1Gi")},
	} {
		if !equality.Semantic.DeepEqual(list[0], list[1]) {
			t.Errorf("requests of %s: %v, want %v", name, list[0], list[1])
		}
	}
}
