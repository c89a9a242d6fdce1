package schedulerdiff

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1defaults "k8s.io/kubernetes/pkg/apis/core/v1"
)

// A generator makes random Nodes and Pods out of few words, so that they often
// meet. Some of what it makes the API server would refuse: a Pod may be older
// than a rule of its validation.
type generator struct{ *rand.Rand }

// chance is true in percent of a hundred cases.
func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g generator, words []T) T { return words[g.IntN(len(words))] }

// rarely returns one of the odd words in three of a hundred cases.
func rarely[T any](g generator, usual, odd []T) T {
	if g.chance(3) {
		return pick(g, odd)
	}
	return pick(g, usual)
}

// some returns from none to most things that make makes; nil at times.
func some[T any](g generator, most int, make func() T) []T {
	var list []T
	if g.chance(20) {
		list = []T{}
	}
	for range g.IntN(most + 1) {
		list = append(list, make())
	}
	return list
}

var (
	nodeNames = []string{"n1", "n2", "n3"}
	labelKeys = []string{"zone", "gpu", "cores", "example.com/tier"}
	labels    = map[string][]string{
		"zone":             {"a", "b"},
		"gpu":              {"", "true"},
		"cores":            {"4", "8", "16", "-3", "x", "08", "9223372036854775808"},
		"example.com/tier": {"a", "b", "8"},
	}
	anyLabelKeys = append([]string{"absent"}, labelKeys...)
	oddTexts     = []string{"", "not valid!", "-a", "a/b/c", "1.5", "99999999999999999999"}

	operators = []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
		corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt}
	oddOperators = []corev1.NodeSelectorOperator{"", "in", "Near"}

	effects     = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}
	lastingKeys = []string{"dedicated", "gpu", "sla", "node-role.kubernetes.io/control-plane", "node.kubernetes.io", "karpenter.sh/other"}
	taintValues = []string{"", "a", "950", "900", "-1", "007", "x", "9223372036854775808"}

	tolerationOperators = []corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpExists}
	comparing           = []corev1.TolerationOperator{corev1.TolerationOpGt, corev1.TolerationOpLt}
)

func (g generator) node() *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:              pick(g, nodeNames),
		CreationTimestamp: metav1.NewTime(now.Add(-24 * time.Hour)),
	}}
	for _, key := range labelKeys {
		if g.chance(70) {
			metav1.SetMetaDataLabel(&node.ObjectMeta, key, rarely(g, labels[key], oddTexts))
		}
	}
	if g.chance(60) {
		node.Spec.Taints = some(g, 3, g.taint)
	}
	node.Spec.Unschedulable = g.chance(10)
	node.Status.Allocatable = g.allocatable()
	return node
}

func (g generator) taint() corev1.Taint {
	taint := corev1.Taint{Key: pick(g, lastingKeys), Value: pick(g, taintValues), Effect: rarely(g, effects, []corev1.TaintEffect{"", "NoBind"})}
	if g.chance(30) {
		taint.Key = pick(g, passingKeys)
	}
	return taint
}

// pod makes a Pod as it is stored.
func (g generator) pod() *corev1.Pod {
	pod := g.template()
	corev1defaults.SetDefaults_Pod(pod)
	return pod
}

// template makes a Pod as somebody writes it.
func (g generator) template() *corev1.Pod {
	pod := &corev1.Pod{}
	spec := &pod.Spec
	if g.chance(12) {
		spec.NodeName = pick(g, nodeNames)
	}
	if g.chance(30) {
		spec.NodeSelector = map[string]string{}
		for range g.IntN(3) {
			key := pick(g, anyLabelKeys[1:])
			spec.NodeSelector[key] = rarely(g, labels[key], oddTexts)
		}
	}
	if g.chance(60) {
		spec.Affinity = g.affinity()
	}
	if g.chance(70) {
		spec.Tolerations = some(g, 4, g.toleration)
	}
	for range 1 + g.IntN(3) {
		spec.Containers = append(spec.Containers, g.container())
	}
	if g.chance(40) {
		spec.InitContainers = some(g, 3, func() corev1.Container {
			container := g.container()
			if g.chance(50) {
				always := corev1.ContainerRestartPolicyAlways
				container.RestartPolicy = &always
			}
			return container
		})
	}
	if g.chance(20) {
		spec.Resources = &corev1.ResourceRequirements{Requests: g.requests(30), Limits: g.requests(10)}
	}
	if g.chance(30) {
		spec.Overhead = g.requests(25)
		if spec.NodeName != "" {
			// The kubelet passes over extended resources that it lacks in
			// containers and not in overhead; nobody has such overhead.
			for name := range spec.Overhead {
				if name != "cpu" && name != "memory" {
					delete(spec.Overhead, name)
				}
			}
		}
	}
	return pod
}

func (g generator) affinity() *corev1.Affinity {
	affinity := &corev1.Affinity{}
	if g.chance(5) {
		return affinity
	}
	affinity.NodeAffinity = &corev1.NodeAffinity{}
	if g.chance(20) {
		affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: g.term()}}
	}
	if g.chance(95) {
		required := &corev1.NodeSelector{NodeSelectorTerms: some(g, 3, g.term)}
		if len(required.NodeSelectorTerms) == 0 && g.chance(80) {
			required.NodeSelectorTerms = []corev1.NodeSelectorTerm{g.term()}
		}
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	}
	return affinity
}

func (g generator) term() corev1.NodeSelectorTerm {
	var term corev1.NodeSelectorTerm
	if g.chance(90) {
		term.MatchExpressions = some(g, 2, func() corev1.NodeSelectorRequirement {
			r := corev1.NodeSelectorRequirement{Key: rarely(g, anyLabelKeys, oddTexts), Operator: rarely(g, operators, oddOperators)}
			words := labels[r.Key]
			if words == nil || g.chance(10) {
				words = labels["cores"]
			}
			r.Values = g.values(r.Operator, words)
			return r
		})
	}
	if g.chance(25) {
		term.MatchFields = some(g, 2, func() corev1.NodeSelectorRequirement {
			r := corev1.NodeSelectorRequirement{
				Key:      rarely(g, []string{metav1.ObjectNameField}, []string{"", "metadata.namespace", "spec.unschedulable"}),
				Operator: rarely(g, operators[:2], operators),
			}
			r.Values = []string{pick(g, nodeNames)}
			if g.chance(10) {
				r.Values = some(g, 2, func() string { return pick(g, nodeNames) })
			}
			return r
		})
	}
	return term
}

// values are as many as the operator wants, most of the time.
func (g generator) values(operator corev1.NodeSelectorOperator, words []string) []string {
	word := func() string { return rarely(g, words, oddTexts) }
	if g.chance(5) {
		return some(g, 2, word)
	}
	switch operator {
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		return nil
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		return []string{word()}
	}
	return append([]string{word()}, some(g, 2, word)...)
}

func (g generator) toleration() corev1.Toleration {
	t := corev1.Toleration{Key: pick(g, lastingKeys), Operator: pick(g, tolerationOperators)}
	switch {
	case g.chance(15):
		t.Key = ""
	case g.chance(10):
		t.Key = pick(g, passingKeys)
	}
	switch {
	case g.chance(15):
		t.Operator = pick(g, comparing)
	case g.chance(3):
		t.Operator = "Near"
	}
	if t.Operator != corev1.TolerationOpExists || g.chance(5) {
		t.Value = pick(g, taintValues)
	}
	if g.chance(50) {
		t.Effect = pick(g, effects)
	}
	if g.chance(20) {
		seconds := int64(g.IntN(3) - 1)
		t.TolerationSeconds = &seconds
	}
	return t
}

var (
	resourceNames = []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "example.com/fpga",
		"attachable-volumes-aws-ebs", "deviceclass.resource.kubernetes.io/gpu", "kubernetes.io/batch"}
	// The scheduler heeds none of these in a Pod's requests.
	oddResourceNames = []corev1.ResourceName{"pods", "storage", "requests.example.com/gpu", "example.com/", "example.com/a b", "x"}

	// Few requests and much room, in every way to write them; both round up.
	few = map[corev1.ResourceName][]string{
		"cpu":               {"0", "0.1", "100m", "1", "1500m", "0.0005", "1.0001", "0.25", "1e-1"},
		"memory":            {"0", "128Mi", "64M", "1Gi", "0.5Gi", "1e9", "1500m", "100.5", "128974848"},
		"ephemeral-storage": {"0", "1Gi", "1G", "1.5Gi", "500m"},
		"hugepages-2Mi":     {"0", "2Mi", "4Mi", "512Mi"},
	}
	much = map[corev1.ResourceName][]string{
		"cpu":               {"0", "1", "2", "3900m", "3.9995", "8", "64", "1k", "1500.5m"},
		"memory":            {"0", "1Gi", "1000M", "2Gi", "8Gi", "1Ti", "1073741823.5", "16Ei", "1e30"},
		"ephemeral-storage": {"0", "1Gi", "10Gi", "1073741824", "1e12"},
		"hugepages-2Mi":     {"0", "2Mi", "1Gi"},
	}
	fewUnits  = []string{"0", "1", "2", "500m", "1.5"}
	muchUnits = []string{"0", "1", "4", "8", "7.5", "1k", "-1"}
	podRoom   = []string{"110", "110", "110", "110", "250", "110", "1", "500m", "0", "-1"}
)

func (g generator) container() corev1.Container {
	var container corev1.Container
	if g.chance(75) {
		container.Resources.Requests = g.requests(20)
	}
	if g.chance(25) {
		container.Resources.Limits = g.requests(20)
	}
	return container
}

// requests holds each resource in percent of a hundred cases.
func (g generator) requests(percent int) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range resourceNames {
		share := percent
		if few[name] == nil {
			share = percent / 4
		}
		if g.chance(share) {
			list[name] = g.quantity(name, few, fewUnits)
		}
	}
	if g.chance(3) {
		list[pick(g, oddResourceNames)] = resource.MustParse(pick(g, muchUnits))
	}
	return list
}

func (g generator) allocatable() corev1.ResourceList {
	if g.chance(5) {
		return pick(g, []corev1.ResourceList{nil, {}})
	}
	list := corev1.ResourceList{}
	for _, name := range resourceNames {
		if g.chance(90) {
			list[name] = g.quantity(name, much, muchUnits)
		}
	}
	if g.chance(95) {
		list[corev1.ResourcePods] = resource.MustParse(pick(g, podRoom))
	}
	return list
}

func (g generator) quantity(name corev1.ResourceName, words map[corev1.ResourceName][]string, units []string) resource.Quantity {
	if named := words[name]; named != nil {
		units = named
	}
	return resource.MustParse(pick(g, units))
}
