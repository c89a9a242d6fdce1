package inventory

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// quantities makes a ResourceList out of names and amounts.
func quantities(words ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(words); i += 2 {
		list[corev1.ResourceName(words[i])] = resource.MustParse(words[i+1])
	}
	return list
}

func requesting(words ...string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: quantities(words...)}}}}
}

// gpuNode is a tainted node with room for 110 Pods, 4 CPUs and 2 GPUs.
func gpuNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu-a", Labels: map[string]string{"gpu": "true", "cores": "4"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "gpu", Value: "80", Effect: corev1.TaintEffectNoSchedule}}},
		Status:     corev1.NodeStatus{Allocatable: quantities("pods", "110", "cpu", "4", "nvidia.com/gpu", "2")},
	}
}

func required(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
}

func labelled(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

func called(name string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}
}

// obstacleOf asks an index of one node what keeps a Pod off it.
func obstacleOf(p *Placement, node *corev1.Node) (obstacle, *lastingTaint) {
	x := NewIndex(DefaultOptions)
	x.SetNode(node)
	s := x.at(now)
	if chosen, all := s.selects(p); !all && !s.has(chosen, 0) {
		return notSelected, nil
	}
	q := s.ask(p, "")
	return q.obstacle(&s.kinds[0])
}

func TestObstacle(t *testing.T) {
	tolerating := func(spec corev1.PodSpec) corev1.PodSpec {
		spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
		return spec
	}
	affine := func(terms ...corev1.NodeSelectorTerm) corev1.PodSpec {
		return tolerating(corev1.PodSpec{Affinity: required(terms...)})
	}
	named := func(name string, spec corev1.PodSpec) corev1.PodSpec {
		spec.NodeName = name
		return spec
	}
	compared := func(operator corev1.TolerationOperator, value string) corev1.PodSpec {
		return corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "gpu", Operator: operator, Value: value}}}
	}
	tests := []struct {
		name string
		spec corev1.PodSpec
		want obstacle
	}{
		{"nothing keeps it off", tolerating(corev1.PodSpec{}), none},
		{"it selects the node", tolerating(corev1.PodSpec{NodeSelector: map[string]string{"gpu": "true"}}), none},
		{"it selects others", tolerating(corev1.PodSpec{NodeSelector: map[string]string{"gpu": "false"}}), notSelected},
		{"one of several terms is enough", affine(labelled("gpu", corev1.NodeSelectorOpDoesNotExist), labelled("cores", corev1.NodeSelectorOpGt, "3")), none},
		{"no term matches", affine(labelled("gpu", corev1.NodeSelectorOpNotIn, "true"), labelled("cores", corev1.NodeSelectorOpLt, "4")), notSelected},
		{"an empty term matches nothing", affine(corev1.NodeSelectorTerm{}), notSelected},
		{"no terms match nothing", affine(), notSelected},
		{"a term that cannot be parsed matches nothing", affine(labelled("cores", corev1.NodeSelectorOpGt, "many")), notSelected},
		{"it wants the node by name", affine(called("gpu-a")), none},
		{"it wants another node by name", affine(called("gpu-b")), notSelected},

		{"it does not tolerate the taint", corev1.PodSpec{}, notTolerated},
		{"it tolerates everything", corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}, none},
		{"it tolerates another effect", corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}}, notTolerated},
		{"it tolerates more than 79", compared(corev1.TolerationOpGt, "79"), none},
		{"it tolerates less than 80", compared(corev1.TolerationOpLt, "80"), notTolerated},
		{"it tolerates more than a word", compared(corev1.TolerationOpGt, "few"), notTolerated},

		{"it is too large", tolerating(requesting("cpu", "5")), tooSmall},
		{"neither a toleration nor room is enough", requesting("cpu", "5"), notToleratedAndTooSmall},
		{"a GPU too many", tolerating(requesting("nvidia.com/gpu", "3")), tooSmall},
		{"an extended resource that the node does not list", tolerating(requesting("example.com/fpga", "1")), notListed},
		{"the same, with too little room", tolerating(requesting("example.com/fpga", "1", "cpu", "5")), tooSmall},
		{"the same, with a taint", requesting("example.com/fpga", "1"), notTolerated},

		{"it names the node: the kubelet heeds no NoSchedule", named("gpu-a", corev1.PodSpec{}), none},
		{"it names another node", named("gpu-b", corev1.PodSpec{}), notSelected},
		{"it names the node and selects others", named("gpu-a", corev1.PodSpec{NodeSelector: map[string]string{"gpu": "false"}}), notSelected},
		{"it names the node and is too large", named("gpu-a", requesting("cpu", "5")), tooSmall},
		{"it names the node: the kubelet passes over what it does not list", named("gpu-a", requesting("example.com/fpga", "1")), none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := obstacleOf(PlacementOf(&corev1.Pod{Spec: tt.spec}), gpuNode()); got != tt.want {
				t.Errorf("obstacle = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestNamedNodeHeedsNoExecute(t *testing.T) {
	node := gpuNode()
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "broken", Effect: corev1.TaintEffectNoExecute})
	got, taint := obstacleOf(PlacementOf(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "gpu-a"}}), node)
	if got != notTolerated || taint.Key != "broken" {
		t.Errorf("obstacle = %d, taint %v", got, taint)
	}
}

func TestClassPlacement(t *testing.T) {
	gpus := map[string]string{"gpu": "true"}
	exists := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	tests := map[string]struct {
		placement *Placement
		want      obstacle
	}{
		"any taint":                {ClassPlacement(gpus, nil, true), none},
		"no toleration":            {ClassPlacement(gpus, nil, false), notTolerated},
		"the class's tolerations":  {ClassPlacement(gpus, exists, false), none},
		"the class selects others": {ClassPlacement(map[string]string{"gpu": "no"}, nil, true), notSelected},
	}
	for name, tt := range tests {
		if got, _ := obstacleOf(tt.placement, gpuNode()); got != tt.want {
			t.Errorf("%s: obstacle = %d, want %d", name, got, tt.want)
		}
	}
}

// A node that lacks the handler, and an extended resource that devices may make
// up for, is no reason to deny; one that has the handler is one not to.
func TestCoverageOfNodesNotListed(t *testing.T) {
	pod := &corev1.Pod{Spec: requesting("nvidia.com/gpu", "1")}
	node := func(name, gpus string, handlers ...corev1.NodeRuntimeHandler) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Status.Allocatable = quantities("pods", "110", "nvidia.com/gpu", gpus)
		n.Status.RuntimeHandlers = handlers
		return n
	}
	index := NewIndex(DefaultOptions)
	index.SetNode(node("listed", "8", corev1.NodeRuntimeHandler{Name: "runc"}))
	index.SetNode(node("devices-have", "0", corev1.NodeRuntimeHandler{Name: "nvidia"}))
	index.SetNode(node("devices-lack", "0", corev1.NodeRuntimeHandler{Name: "runc"}))
	index.SetNode(node("devices-silent", "0"))
	c := index.Coverage(PlacementOf(pod), "nvidia", 0, time.Now())
	for what, got := range map[string]Nodes{"listed": c.Lacks, "devices-have": c.Has, "devices-silent": c.Silent, "devices-lack": c.TooSmall} {
		if got.String() != what {
			t.Errorf("got %q, want %q", got, what)
		}
	}
	if c.Candidates() != 3 {
		t.Errorf("%d candidates, want 3", c.Candidates())
	}
}
