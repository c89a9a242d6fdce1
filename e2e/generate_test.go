package e2e

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// A generator makes random nodes, classes and Pods that the API server takes,
// out of few words, so that they often meet.
type generator struct{ *rand.Rand }

// chance is true in percent of a hundred cases.
func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g generator, words ...T) T { return words[g.IntN(len(words))] }

var (
	labelKeys = []string{"zone", "gpu", "cores", "example.com/tier"}
	labels    = map[string][]string{
		"zone":             {"a", "b"},
		"gpu":              {"", "true"},
		"cores":            {"4", "8", "16", "x", "08"},
		"example.com/tier": {"a", "b"},
	}
	taintKeys   = []string{"dedicated", "nvidia.com/gpu", "node-role.kubernetes.io/control-plane"}
	taintValues = []string{"", "a", "b"}
	effects     = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}

	// What containers ask for, in several ways to write it, and what nodes offer.
	// Devices come in whole numbers, and are asked for by limits.
	asked = map[corev1.ResourceName][]string{
		"cpu":               {"0", "0.1", "250m", "1", "1500m", "1e-1"},
		"memory":            {"0", "128Mi", "64M", "1Gi", "0.5Gi", "1e9", "128974848"},
		"ephemeral-storage": {"0", "1Gi", "1G"},
		"nvidia.com/gpu":    {"1", "2"},
		"example.com/fpga":  {"1"},
	}
	offered = map[corev1.ResourceName][]string{
		"cpu":               {"500m", "1", "1900m", "4", "16"},
		"memory":            {"512Mi", "1Gi", "2G", "16Gi"},
		"ephemeral-storage": {"1Gi", "10Gi"},
		"nvidia.com/gpu":    {"0", "1", "2", "8"},
		"example.com/fpga":  {"1", "4"},
		"hugepages-2Mi":     {"0", "4Mi", "1Gi"},
		"pods":              {"110", "110", "110", "110", "1", "0"},
	}
	resourceNames = []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "example.com/fpga", "hugepages-2Mi", "pods"}
)

func (g generator) nodes(n int) (all []harness.Node) {
	for i := range n {
		node := harness.Node{Name: fmt.Sprintf("n%02d", i), Labels: map[string]string{}, Allocatable: corev1.ResourceList{}}
		for _, key := range labelKeys {
			if g.chance(75) {
				node.Labels[key] = pick(g, labels[key]...)
			}
		}
		for _, key := range taintKeys {
			if g.chance(20) {
				node.Taints = append(node.Taints, corev1.Taint{Key: key, Value: pick(g, taintValues...), Effect: pick(g, effects...)})
			}
		}
		for _, name := range resourceNames {
			if g.chance(60) {
				node.Allocatable[name] = resource.MustParse(pick(g, offered[name]...))
			}
		}
		all = append(all, node)
	}
	return all
}

// classes have overhead and scheduling at times.
func (g generator) classes(n int) (all []*nodev1.RuntimeClass) {
	for i := range n {
		class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("class-%d", i)}, Handler: "any"}
		if g.chance(75) {
			class.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{
				"cpu":    resource.MustParse(pick(g, "250m", "1")),
				"memory": resource.MustParse(pick(g, "128Mi", "1Gi")),
			}}
		}
		if g.chance(50) {
			class.Scheduling = &nodev1.Scheduling{}
			for range g.IntN(2) {
				class.Scheduling.Tolerations = append(class.Scheduling.Tolerations, g.toleration())
			}
			if g.chance(30) {
				class.Scheduling.NodeSelector = g.selector()
			}
		}
		all = append(all, class)
	}
	return all
}

// pod makes a Pod that can land on one node at most.
func (g generator) pod(node *corev1.Node, classes []*nodev1.RuntimeClass) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"}}
	spec := &pod.Spec
	if g.chance(15) {
		spec.NodeSelector = g.selector()
	}
	if g.chance(40) {
		spec.RuntimeClassName = &pick(g, classes...).Name
	}
	if class := classNamed(classes, spec.RuntimeClassName); class != nil && class.Scheduling != nil {
		for key := range class.Scheduling.NodeSelector {
			delete(spec.NodeSelector, key) // another value would be refused
		}
	}
	terms := &corev1.NodeSelector{}
	for range 1 + g.IntN(2) {
		terms.NodeSelectorTerms = append(terms.NodeSelectorTerms, g.term(node.Name))
	}
	spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	for range g.IntN(4) {
		spec.Tolerations = append(spec.Tolerations, g.toleration())
	}
	for i := range 1 + g.IntN(3) {
		spec.Containers = append(spec.Containers, g.container(fmt.Sprintf("c%d", i)))
	}
	if g.chance(40) {
		for i := range 1 + g.IntN(2) {
			init := g.container(fmt.Sprintf("init%d", i))
			if g.chance(50) {
				always := corev1.ContainerRestartPolicyAlways
				init.RestartPolicy = &always
			}
			spec.InitContainers = append(spec.InitContainers, init)
		}
	}
	if g.chance(15) {
		// More than all containers can ask for, as it has to be.
		spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{
			"cpu":    resource.MustParse(pick(g, "9", "20")),
			"memory": resource.MustParse(pick(g, "9Gi", "20Gi")),
		}}
	}
	return pod
}

func (g generator) selector() map[string]string {
	key := pick(g, labelKeys...)
	return map[string]string{key: pick(g, labels[key]...)}
}

func (g generator) term(node string) corev1.NodeSelectorTerm {
	term := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
	}}
	for range g.IntN(3) {
		key := pick(g, append(labelKeys, "absent")...)
		requirement := corev1.NodeSelectorRequirement{Key: key, Operator: pick(g,
			corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)}
		words := labels[key]
		switch {
		case key == "cores" && g.chance(50):
			requirement.Operator = pick(g, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
			requirement.Values = []string{pick(g, "0", "4", "8", "12")}
		case requirement.Operator == corev1.NodeSelectorOpExists || requirement.Operator == corev1.NodeSelectorOpDoesNotExist:
		case words == nil:
			requirement.Values = []string{"a"}
		default:
			requirement.Values = []string{pick(g, words...), pick(g, words...)}
		}
		term.MatchExpressions = append(term.MatchExpressions, requirement)
	}
	return term
}

func (g generator) toleration() corev1.Toleration {
	t := corev1.Toleration{Key: pick(g, taintKeys...), Operator: pick(g, "", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpExists)}
	if g.chance(10) {
		t.Key, t.Operator = "", corev1.TolerationOpExists
	}
	if t.Operator != corev1.TolerationOpExists {
		t.Value = pick(g, taintValues...)
	}
	if g.chance(60) {
		t.Effect = pick(g, effects...)
	}
	if t.Effect == corev1.TaintEffectNoExecute && g.chance(30) {
		long := int64(3600) // longer than the Pod is there
		t.TolerationSeconds = &long
	}
	return t
}

func (g generator) container(name string) corev1.Container {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	for _, name := range resourceNames[:3] {
		if g.chance(30) {
			requests[name] = resource.MustParse(pick(g, asked[name]...))
		}
	}
	for _, name := range resourceNames[3:5] {
		if g.chance(8) {
			limits[name] = resource.MustParse(pick(g, asked[name]...))
		}
	}
	if g.chance(15) {
		limits["cpu"] = resource.MustParse("2") // stands for a request that is absent
	}
	if _, ok := requests["memory"]; ok && g.chance(10) {
		limits["hugepages-2Mi"] = resource.MustParse("4Mi")
	}
	return corev1.Container{Name: name, Image: "app", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
}
