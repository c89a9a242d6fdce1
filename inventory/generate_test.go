package inventory

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A generator makes random events of one cluster, and random questions.
type generator struct {
	r       *rand.Rand
	now     time.Time
	size    int
	unique  int // percentage of nodes that have a serial of their own
	reports map[string]*v1alpha1.NodeRuntime
	// moments are the times of nodes and reports, at which something may change.
	moments []time.Time
	seen    map[string]int
}

func newGenerator(r *rand.Rand, seen map[string]int) *generator {
	return &generator{r: r, now: now, size: 1 + r.IntN(24), unique: r.IntN(101), reports: map[string]*v1alpha1.NodeRuntime{}, seen: seen}
}

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

func (g *generator) options() Options {
	return Options{
		StaleAfter: pick(g.r, 15*time.Minute, time.Minute, time.Hour),
		NodeSettle: pick(g.r, 10*time.Minute, 10*time.Minute, time.Minute, 0),
	}
}

func (g *generator) limits() namingLimits {
	return pick(g.r, namingLimits{3, 2}, namingLimits{2, 3}, namingLimits{4, 1}, namingLimits{namingValues, namingNodes})
}

// passTime moves the clock: a little, to just before or after a change that comes
// by itself, and sometimes back.
func (g *generator) passTime() {
	switch n := g.r.IntN(100); {
	case n < 60:
	case n < 75:
		g.now = g.now.Add(time.Duration(g.r.Int64N(int64(2 * time.Minute))))
	case n < 80:
		g.now = g.now.Add(-time.Duration(g.r.Int64N(int64(time.Minute))))
		g.seen["back in time"]++
	case n < 95 && len(g.moments) > 0:
		after := pick(g.r, time.Minute, 10*time.Minute, 15*time.Minute, time.Hour, -maxClockSkew, 0)
		at := pick(g.r, g.moments...).Add(after).Add(time.Duration(g.r.IntN(3) - 1))
		if d := at.Sub(g.now); d < 2*time.Hour && d > -2*time.Hour {
			g.now = at
		}
	}
}

// time is one near now, as objects have it: most have no parts of seconds.
func (g *generator) time() metav1.Time {
	age := pick(g.r, 0, time.Minute, 9*time.Minute, 10*time.Minute, 14*time.Minute, 16*time.Minute, -4*time.Minute, -6*time.Minute, 24*time.Hour)
	at := metav1.NewTime(g.now.Add(-age))
	if g.chance(80) {
		at = at.Rfc3339Copy()
	}
	g.moments = append(g.moments, at.Time)
	return at
}

func (g *generator) nodeName() string { return fmt.Sprintf("n%d", g.r.IntN(g.size)) }

func (g *generator) some(percent int, all ...string) (some []string) {
	for _, one := range all {
		if g.chance(percent) {
			some = append(some, one)
		}
	}
	return some
}

func (g *generator) node(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: g.labels(name)}}
	if g.chance(95) {
		n.CreationTimestamp = metav1.NewTime(now.Add(-24 * time.Hour))
		if g.chance(40) {
			n.CreationTimestamp = g.time()
		}
	}
	for _, key := range g.some(15, "dedicated", "gpu", "soft", corev1.TaintNodeNotReady, "level") {
		effect := pick(g.r, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)
		if key == "soft" {
			effect = corev1.TaintEffectPreferNoSchedule
		}
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: pick(g.r, "", "5", "80"), Effect: effect})
	}
	if g.chance(90) {
		n.Status.Allocatable = quantities("pods", pick(g.r, "110", "110", "110", "0"), "cpu", pick(g.r, "1", "2", "2000m", "4"), "memory", pick(g.r, "1Gi", "2Gi"))
		if g.chance(30) {
			n.Status.Allocatable["nvidia.com/gpu"] = quantities("x", pick(g.r, "0", "1", "2"))["x"]
		}
	}
	yes, no := true, false
	for _, handler := range g.some(40, "", "kata", "nvidia", "runc") {
		h := corev1.NodeRuntimeHandler{Name: handler}
		if g.chance(50) {
			h.Features = &corev1.NodeRuntimeHandlerFeatures{UserNamespaces: pick(g.r, nil, &yes, &no), RecursiveReadOnlyMounts: pick(g.r, nil, &yes, &no)}
		}
		n.Status.RuntimeHandlers = append(n.Status.RuntimeHandlers, h)
	}
	if g.chance(30) {
		n.Status.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: pick(g.r, nil, &yes, &no)}
	}
	if g.chance(70) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: pick(g.r, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionUnknown)}}
	}
	if len(n.Status.RuntimeHandlers) > 0 && g.chance(5) {
		n.Status.RuntimeHandlers = append(n.Status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: pick(g.r, "kata", "runc")})
	}
	g.r.Shuffle(len(n.Status.RuntimeHandlers), func(i, j int) {
		h := n.Status.RuntimeHandlers
		h[i], h[j] = h[j], h[i]
	})
	return n
}

func (g *generator) labels(name string) map[string]string {
	if g.chance(5) {
		return nil
	}
	labels := map[string]string{"zone": pick(g.r, "a", "b"), corev1.LabelHostname: name}
	if g.chance(10) {
		labels[corev1.LabelHostname] = g.nodeName()
	}
	if g.chance(5) {
		delete(labels, corev1.LabelHostname)
	}
	if g.chance(60) {
		labels["cores"] = pick(g.r, "2", "4", "8", "x", "")
	}
	if g.chance(90) {
		labels["serial"] = "1"
		if g.chance(g.unique) {
			labels["serial"] = fmt.Sprint(g.r.IntN(3 * g.size))
		}
	}
	if g.chance(30) {
		labels["rack"] = fmt.Sprintf("r%d", g.r.IntN(g.size))
	}
	return labels
}

func (g *generator) report(name string) *v1alpha1.NodeRuntime {
	r := report(name, g.time(), g.some(50, "kata", "nvidia", "runc", "untrusted")...)
	r.Spec.DefaultHandler = pick(g.r, "", "runc", "runc", "crun")
	r.Spec.Runtime.Name = pick(g.r, "containerd", "containerd", "cri-o")
	if g.chance(15) {
		r.Spec.Source = v1alpha1.SourceConfigDump
	}
	for i := range r.Spec.Handlers {
		h := &r.Spec.Handlers[i]
		if g.chance(20) {
			h.Binary = &v1alpha1.Program{State: pick(g.r, v1alpha1.ProgramNotFound, v1alpha1.ProgramFound)}
		}
		if g.chance(25) {
			h.Shim = &v1alpha1.Program{State: pick(g.r, v1alpha1.ProgramNotFound, v1alpha1.ProgramNotExecutable, v1alpha1.ProgramUnchecked)}
			h.RuntimeType = pick(g.r, "", "io.containerd.runc.v2")
		}
		if g.chance(40) {
			h.Features = &v1alpha1.Features{UserNamespaces: g.chance(50), RecursiveReadOnlyMounts: g.chance(50)}
		}
	}
	if g.chance(40) {
		r.Spec.Next = &v1alpha1.Next{Handlers: g.some(70, "kata", "nvidia", "runc")}
	}
	if g.chance(30) {
		r.Spec.CDI = &v1alpha1.CDI{Enabled: g.chance(50)}
	}
	for _, code := range g.some(8, v1alpha1.FindingDumpNotProof, v1alpha1.FindingRuntimeUnreachable, v1alpha1.FindingHandlerLost, v1alpha1.FindingHandlerUnconfirmed, "MadeUp") {
		r.Spec.Findings = append(r.Spec.Findings, v1alpha1.Finding{Code: code, Severity: v1alpha1.SeverityError, Handler: pick(g.r, "kata", "nvidia", "")})
	}
	if g.chance(30) {
		r.Spec.Findings = append(r.Spec.Findings, v1alpha1.Finding{Code: v1alpha1.FindingExpiring, Severity: v1alpha1.SeverityError, Handler: pick(g.r, "kata", "nvidia", "runc")})
	}
	g.reports[name] = r
	return r
}

func (g *generator) pod() *corev1.Pod {
	spec := corev1.PodSpec{NodeSelector: g.nodeSelector(), Tolerations: g.tolerations()}
	if g.chance(60) {
		spec.Containers = requesting("cpu", pick(g.r, "0", "500m", "1", "2", "3"), "memory", pick(g.r, "0", "1Gi", "3Gi")).Containers
		if g.chance(30) {
			spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = quantities("x", "1")["x"]
		}
	}
	if g.chance(30) {
		spec.Overhead = quantities("cpu", pick(g.r, "250m", "1"))
	}
	if g.chance(10) {
		spec.NodeName = g.nodeName()
	}
	if g.chance(5) {
		spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "queue"}}
	}
	if g.chance(40) {
		var terms []corev1.NodeSelectorTerm
		for range g.r.IntN(4) {
			terms = append(terms, g.term())
		}
		spec.Affinity = required(terms...)
	}
	return &corev1.Pod{Spec: spec}
}

func (g *generator) nodeSelector() map[string]string {
	if g.chance(60) {
		return nil
	}
	selector := map[string]string{}
	for _, key := range g.some(25, "zone", "cores", "serial", "rack", corev1.LabelHostname, "none") {
		selector[key] = g.value(key)
	}
	return selector
}

// value is one that nodes may have of a key, or not.
func (g *generator) value(key string) string {
	if g.chance(5) {
		return pick(g.r, "", "not valid!", "other")
	}
	switch key {
	case "zone":
		return pick(g.r, "a", "b")
	case "cores":
		return pick(g.r, "2", "4", "8", "x", "")
	case "serial":
		return fmt.Sprint(g.r.IntN(3 * g.size))
	case "rack":
		return fmt.Sprintf("r%d", g.r.IntN(g.size))
	}
	return g.nodeName()
}

func (g *generator) term() (term corev1.NodeSelectorTerm) {
	for range g.r.IntN(3) {
		key := pick(g.r, "zone", "cores", "serial", "rack", corev1.LabelHostname, "none", "not valid!")
		if key == "not valid!" && g.chance(80) {
			key = "Zone"
		}
		operator := pick(g.r, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, "Near")
		if operator == "Near" && g.chance(80) {
			operator = corev1.NodeSelectorOpIn
		}
		var values []string
		count := 1
		switch {
		case g.chance(3):
			count = g.r.IntN(3)
		case operator == corev1.NodeSelectorOpExists || operator == corev1.NodeSelectorOpDoesNotExist:
			count = 0
		case operator == corev1.NodeSelectorOpIn || operator == corev1.NodeSelectorOpNotIn:
			count = 1 + g.r.IntN(3)
		}
		for range count {
			value := g.value(key)
			if (operator == corev1.NodeSelectorOpGt || operator == corev1.NodeSelectorOpLt) && g.chance(95) {
				value = fmt.Sprint(g.r.IntN(3*g.size) - 1)
			}
			values = append(values, value)
		}
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values})
	}
	if g.chance(25) {
		field := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: pick(g.r, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{g.nodeName()}}
		switch g.r.IntN(12) {
		case 0:
			field.Key = "metadata.namespace"
		case 1:
			field.Key, field.Values = "metadata.namespace", []string{""}
		case 2:
			field.Values = append(field.Values, "n0")
		case 3:
			field.Operator = corev1.NodeSelectorOpExists
		}
		term.MatchFields = append(term.MatchFields, field)
	}
	return term
}

func (g *generator) tolerations() (all []corev1.Toleration) {
	for _, key := range g.some(40, "dedicated", "gpu", "level") {
		all = append(all, corev1.Toleration{Key: key, Operator: pick(g.r, corev1.TolerationOpExists, corev1.TolerationOpEqual, corev1.TolerationOpGt, corev1.TolerationOpLt),
			Value: pick(g.r, "", "5", "80"), Effect: pick(g.r, "", corev1.TaintEffectNoSchedule)})
	}
	return all
}
