package webhook

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

var (
	clusterSeed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random clusters")
	clusters    = flag.Int("clusters", 100_000, "random clusters to judge")
)

// A machine is a node as it is, and as it tells of itself.
type machine struct {
	Name      string
	Pool      string
	Taints    []corev1.Taint
	CPU       int64
	Handlers  []string // loaded in truth
	Tells     string   // how, if at all
	NotProof  bool     // its report says that a handler may be absent from it
	Young     bool
	NotReady  bool
	HasReport []string // what an older or another source says
}

// The ways in which a node tells of its handlers.
var ways = []string{"report", "report", "kubelet", "kubelet", "stale report", "dump", "nothing", "dump and kubelet"}

// A wish is a Pod, and what decides where it may land, told another way than in
// its spec.
type wish struct {
	Node       string
	Pools      []string // empty: any
	Tolerates  []string // keys of taints
	CPU        int64
	Overhead   int64
	Handler    string
	OnDemand   bool
	HeldBack   bool
	Controller string
}

type cluster struct {
	Machines []machine
	Wish     wish
}

func randomCluster(r *rand.Rand) cluster {
	chance := func(percent int) bool { return r.IntN(100) < percent }
	subset := func(all ...string) (some []string) {
		for _, one := range all {
			if chance(40) {
				some = append(some, one)
			}
		}
		return some
	}
	var c cluster
	for i := range r.IntN(5) {
		m := machine{
			Name: fmt.Sprintf("n%d", i), Pool: []string{"gpu", "cpu"}[r.IntN(2)], CPU: 1 + r.Int64N(4),
			Handlers: append(subset("kata", "nvidia"), "runc"), Tells: ways[r.IntN(len(ways))],
			NotProof: chance(10), Young: chance(10), NotReady: chance(10), HasReport: append(subset("kata", "nvidia"), "runc"),
		}
		for _, key := range subset("dedicated", "node.kubernetes.io/not-ready", "soft") {
			effect := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}[r.IntN(2)]
			if key == "soft" {
				effect = corev1.TaintEffectPreferNoSchedule
			}
			m.Taints = append(m.Taints, corev1.Taint{Key: key, Effect: effect})
		}
		c.Machines = append(c.Machines, m)
	}
	c.Wish = wish{Pools: subset("gpu", "cpu"), Tolerates: subset("dedicated", "other"), CPU: r.Int64N(4), Overhead: r.Int64N(3),
		Handler: []string{"kata", "nvidia", "runc", "gvisor"}[r.IntN(4)], OnDemand: chance(5), HeldBack: chance(5)}
	if chance(10) {
		c.Wish.Node = fmt.Sprintf("n%d", r.IntN(5))
	}
	if chance(10) {
		c.Wish.Controller = "DaemonSet"
	}
	return c
}

// index is what the gate is told of the cluster.
func (c *cluster) index() *inventory.Index {
	x := inventory.NewIndex(inventory.DefaultOptions)
	for i := range c.Machines {
		m := &c.Machines[i]
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: map[string]string{"pool": m.Pool}, CreationTimestamp: metav1.NewTime(reportNow.Add(-time.Hour))}}
		if m.Young {
			node.CreationTimestamp = metav1.NewTime(reportNow.Add(-time.Minute))
		}
		node.Spec.Taints = m.Taints
		node.Status.Allocatable = corev1.ResourceList{"cpu": *resource.NewQuantity(m.CPU, resource.DecimalSI), "pods": resource.MustParse("10")}
		status := corev1.ConditionTrue
		if m.NotReady {
			status = corev1.ConditionUnknown
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
		if m.Tells == "kubelet" || m.Tells == "dump and kubelet" {
			for _, handler := range m.Handlers {
				node.Status.RuntimeHandlers = append(node.Status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: handler})
			}
		}
		x.SetNode(node)
		report := &v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{Name: m.Name}}
		report.Spec.Source, report.Spec.RenewedAt = v1alpha1.SourceCRI, metav1.NewTime(reportNow)
		told := m.Handlers
		switch m.Tells {
		case "stale report":
			report.Spec.RenewedAt, told = metav1.NewTime(reportNow.Add(-time.Hour)), m.HasReport
		case "dump":
			report.Spec.Source = v1alpha1.SourceConfigDump
		case "dump and kubelet":
			report.Spec.Source, told = v1alpha1.SourceConfigDump, m.HasReport
		case "kubelet", "nothing":
			continue
		}
		for _, handler := range told {
			report.Spec.Handlers = append(report.Spec.Handlers, v1alpha1.Handler{Name: handler})
		}
		if m.NotProof {
			report.Spec.Findings = []v1alpha1.Finding{{Code: v1alpha1.FindingDumpNotProof}}
		}
		x.SetReport(report)
	}
	return x
}

// pod is the Pod as it comes to the webhook.
func (w *wish) pod(class *nodev1.RuntimeClass) *corev1.Pod {
	cpu := corev1.ResourceList{"cpu": *resource.NewQuantity(w.CPU, resource.DecimalSI)}
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		NodeName: w.Node, RuntimeClassName: &class.Name,
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: cpu}}},
	}}
	for _, key := range w.Tolerates {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
	if len(w.Pools) > 0 {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: w.Pools}}}},
		}}}
	}
	if w.HeldBack {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "queue"}}
	}
	if w.Controller != "" {
		controls := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: w.Controller, Controller: &controls}}
	}
	return pod
}

// mayLand says whether the Pod may land on a machine, now or when the machine
// has settled.
func (w *wish) mayLand(m *machine) bool {
	if w.Node != "" && w.Node != m.Name || len(w.Pools) > 0 && !slices.Contains(w.Pools, m.Pool) || w.CPU+w.Overhead > m.CPU {
		return false
	}
	for _, taint := range m.Taints {
		keeps := taint.Key == "dedicated" && !slices.Contains(w.Tolerates, "dedicated")
		if w.Node != "" && taint.Effect == corev1.TaintEffectNoSchedule || w.HeldBack || m.Young {
			keeps = false
		}
		if keeps {
			return false
		}
	}
	return true
}

// isKnown says whether what a machine lacks is beyond doubt.
func (m *machine) isKnown() bool {
	switch m.Tells {
	case "report":
		return !m.Young && !m.NotProof
	case "kubelet", "dump and kubelet":
		return !m.Young && !m.NotReady
	case "dump":
		return !m.Young && !m.NotProof && !m.NotReady
	}
	return false
}

// runsSomewhere says whether the Pod can run in any completion of the cluster,
// each of which gives or denies the handler to every machine that is not known.
func (c *cluster) runsSomewhere() bool {
	var unknown []int
	for i := range c.Machines {
		if !c.Machines[i].isKnown() {
			unknown = append(unknown, i)
		}
	}
	for completion := range 1 << len(unknown) {
		for i := range c.Machines {
			m := &c.Machines[i]
			has := slices.Contains(m.Handlers, c.Wish.Handler)
			if at := slices.Index(unknown, i); at >= 0 {
				has = completion>>at&1 == 1
			}
			if has && c.Wish.mayLand(m) {
				return true
			}
		}
	}
	return false
}

// TestDeniesWhatCanRunNowhere denies a Pod if, and only if, there are nodes for it
// and none can run it, whatever the nodes have that do not tell.
func TestDeniesWhatCanRunNowhere(t *testing.T) {
	t.Logf("seed %d", *clusterSeed)
	actions := map[Action]int{}
	for i := range *clusters {
		c := randomCluster(rand.New(rand.NewPCG(*clusterSeed, uint64(i))))
		class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}, Handler: c.Wish.Handler}
		if c.Wish.Overhead > 0 {
			class.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{"cpu": *resource.NewQuantity(c.Wish.Overhead, resource.DecimalSI)}}
		}
		if c.Wish.OnDemand {
			class.Annotations = map[string]string{OnDemandAnnotation: "true"}
		}
		find := func(context.Context, string) (*nodev1.RuntimeClass, error) { return class, nil }
		gate := &Gate{Index: c.index(), Class: find, LiveClass: find, Rules: noRules, MaxAction: Deny, Now: func() time.Time { return reportNow }}
		pod := c.Wish.pod(class)
		if err := MergeClass(&pod.Spec, class); err != nil {
			t.Fatal(err)
		}
		verdict := gate.Pod(t.Context(), "default", pod)
		actions[verdict.Action()]++

		candidates := slices.ContainsFunc(c.Machines, func(m machine) bool { return c.Wish.mayLand(&m) })
		want := candidates && !c.runsSomewhere() && !c.Wish.OnDemand && c.Wish.Controller == ""
		if got := verdict.Action() == Deny; got != want {
			text, _ := yaml.Marshal(c)
			t.Fatalf("cluster %d: denied: %t, want %t; %v\n%s", i, got, want, tell(verdict), text)
		}
	}
	t.Logf("%d clusters: %d denied, %d warned of, %d passed; 0 counter-examples", *clusters, actions[Deny], actions[Warn], actions[Allow])
	for _, action := range []Action{Allow, Warn, Deny} {
		if actions[action] < *clusters/20 {
			t.Errorf("%d of %d verdicts are %s: too few to prove something", actions[action], *clusters, action)
		}
	}
}
