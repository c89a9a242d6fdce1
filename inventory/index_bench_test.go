package inventory

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

var benchSizes = []int{1000, 5000, 15000, 65000, 100000}

// benchNode is the node of a number, in a cluster of 20 pools in 3 zones: 21 labels,
// taints on a quarter, GPUs and the handler nvidia in a fifth of the pools.
func benchNode(i int) *corev1.Node {
	pool, zone, image := i%20, i/20%3, i/60%8
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i>>16, i>>8&255, i&255),
		Labels: map[string]string{
			"kubernetes.io/os": "linux", "kubernetes.io/arch": []string{"amd64", "arm64"}[pool%2],
			"topology.kubernetes.io/region": "eu-central-1", "topology.kubernetes.io/zone": "eu-central-1" + string(rune('a'+zone)),
			"node.kubernetes.io/instance-type": fmt.Sprintf("m%d.xlarge", pool%7), "example.com/pool": fmt.Sprintf("pool-%d", pool),
			"example.com/cores": fmt.Sprint(4 << (pool % 4)), "example.com/image": fmt.Sprintf("v%d", image),
		},
		CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
	}}
	node.Labels[corev1.LabelHostname] = node.Name
	for j := range 12 {
		node.Labels[fmt.Sprintf("example.com/label-%d", j)] = fmt.Sprint(pool % (j + 1))
	}
	cpu, memory := fmt.Sprintf("%dm", 3850<<(pool%4)), fmt.Sprintf("%dMi", 14000<<(pool%4))
	node.Status.Allocatable = quantities("pods", "110", "cpu", cpu, "memory", memory, "ephemeral-storage", "80Gi", "hugepages-2Mi", "0")
	node.Status.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Name: ""}, {Name: "runc"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if pool%5 == 0 {
		node.Status.Allocatable["nvidia.com/gpu"] = quantities("gpu", "8")["gpu"]
		node.Status.RuntimeHandlers = append(node.Status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: "nvidia"})
		node.Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	}
	if pool == 7 {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule})
	}
	return node
}

// benchReport is what the reporter of a node says.
func benchReport(i int, node *corev1.Node) *v1alpha1.NodeRuntime {
	handlers := []string{"crun", "runc"}
	if i%20%5 == 0 {
		handlers = []string{"nvidia", "nvidia-cdi", "runc"}
	}
	r := report(node.Name, metav1.NewTime(now.Add(-time.Duration(i%300)*time.Second)), handlers...)
	r.Spec.DefaultHandler, r.Spec.Source = "runc", v1alpha1.SourceCRI
	return r
}

func benchIndex(size int) *Index {
	x := NewIndex(DefaultOptions)
	for i := range size {
		node := benchNode(i)
		x.SetNode(node)
		x.SetReport(benchReport(i, node))
	}
	x.renew(now)
	return x
}

// cpu reports how much of the processors an operation takes, collection of garbage
// included: other work on the machine disturbs that less than the time.
func cpu(b *testing.B) (done func()) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// benchPods are the Pods that are asked about.
func benchPods() map[string]*corev1.Pod {
	anywhere := requesting("cpu", "500m", "memory", "1Gi")
	selecting := requesting("cpu", "4", "memory", "8Gi", "nvidia.com/gpu", "1")
	selecting.NodeSelector = map[string]string{"kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "eu-central-1a"}
	selecting.Tolerations = []corev1.Toleration{
		{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists},
	}
	selecting.Affinity = required(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "example.com/pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"pool-0", "pool-5", "pool-10"}},
		{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"s390x"}},
		{Key: "example.com/cores", Operator: corev1.NodeSelectorOpGt, Values: []string{"2"}},
	}})
	named := requesting("cpu", "500m")
	named.NodeSelector = map[string]string{corev1.LabelHostname: benchNode(500).Name}
	but := requesting("cpu", "500m")
	but.Affinity = required(labelled(corev1.LabelHostname, corev1.NodeSelectorOpNotIn, benchNode(500).Name))
	return map[string]*corev1.Pod{"anywhere": {Spec: anywhere}, "selecting": {Spec: selecting}, "hostname": {Spec: named}, "not hostname": {Spec: but}}
}

// BenchmarkCoverage asks where a Pod may land, of a handler that some nodes have
// and of one that none has, on which a denial rests.
func BenchmarkCoverage(b *testing.B) {
	for _, size := range benchSizes {
		x := benchIndex(size)
		for name, pod := range benchPods() {
			p := PlacementOf(pod)
			for what, handler := range map[string]string{"has": "runc", "some": "nvidia", "lacks": "nvidia-typo"} {
				b.Run(fmt.Sprintf("%s/%s/nodes=%d", name, what, size), func(b *testing.B) {
					b.ReportAllocs()
					defer cpu(b)()
					for b.Loop() {
						x.Coverage(p, handler, 0, now)
					}
				})
			}
		}
		fmt.Printf("# %d nodes: %d groups, %d kinds, %d label sets\n", size, len(x.groups), len(x.kinds), len(x.labels))
	}
}

// BenchmarkPlacementOf is what comes before a question.
func BenchmarkPlacementOf(b *testing.B) {
	for name, pod := range benchPods() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				PlacementOf(pod)
			}
		})
	}
}

// BenchmarkUpdate tells an index of changes, and makes a snapshot for every
// hundred of them.
func BenchmarkUpdate(b *testing.B) {
	for _, size := range benchSizes {
		x := benchIndex(size)
		nodes, tainted, heartbeats := make([]*corev1.Node, 1000), make([]*corev1.Node, 1000), make([]*v1alpha1.NodeRuntime, 1000)
		for i := range nodes {
			nodes[i], tainted[i] = benchNode(i*size/1000), benchNode(i*size/1000)
			tainted[i].Spec.Taints = append(tainted[i].Spec.Taints, corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule})
			heartbeats[i] = benchReport(i*size/1000, nodes[i])
			heartbeats[i].Spec.RenewedAt = metav1.NewTime(now.Add(-time.Second))
		}
		for _, bb := range []struct {
			name   string
			change func(i int)
		}{
			{"unchanged node", func(i int) { x.SetNode(nodes[i%1000]) }},
			{"heartbeat", func(i int) { x.SetReport(heartbeats[i%1000]) }},
			{"taint", func(i int) {
				if i/1000%2 == 0 {
					x.SetNode(tainted[i%1000])
				} else {
					x.SetNode(nodes[i%1000])
				}
			}},
			{"gone and back", func(i int) {
				if i%2 == 0 {
					x.DeleteNode(nodes[i/2%1000].Name)
				} else {
					x.SetNode(nodes[i/2%1000])
				}
			}},
		} {
			b.Run(fmt.Sprintf("%s/nodes=%d", bb.name, size), func(b *testing.B) {
				b.ReportAllocs()
				defer cpu(b)()
				i := 0
				for b.Loop() {
					bb.change(i)
					if i++; i%100 == 0 {
						x.renew(now)
					}
				}
			})
		}
	}
}

// BenchmarkFill puts all nodes and reports into an index. B/node is what it then
// takes, and all that it keeps of the objects, which are let go.
func BenchmarkFill(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("nodes=%d", size), func(b *testing.B) {
			var x *Index
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				x = NewIndex(DefaultOptions)
				for first := 0; first < size; first += 1000 {
					b.StopTimer()
					var nodes [1000]*corev1.Node
					var reports [1000]*v1alpha1.NodeRuntime
					for i := range nodes {
						nodes[i] = benchNode(first + i)
						reports[i] = benchReport(first+i, nodes[i])
					}
					b.StartTimer()
					for i := range nodes {
						x.SetNode(nodes[i])
						x.SetReport(reports[i])
					}
				}
				x.renew(now)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(size), "B/node")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/node")
			runtime.KeepAlive(x)
		})
	}
}
