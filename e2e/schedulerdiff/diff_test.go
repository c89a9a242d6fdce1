package schedulerdiff

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/inventory"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

var (
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random nodes and Pods")
	pairs = flag.Int("pairs", 100_000, "how many of them to compare")
)

const (
	handler = "h"
	most    = 3 // differences to print
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// The kubelet reads the gate itself. It means something only for Pods with Gt
// or Lt, which are compared with the gate on; see TestComparisonTolerations.
func TestMain(m *testing.M) {
	gate := fmt.Sprintf("%s=true", features.TaintTolerationComparisonOperators)
	if err := utilfeature.DefaultMutableFeatureGate.Set(gate); err != nil {
		panic(err)
	}
	klog.SetLogger(klog.Logger{}) // the helpers log every value that is no number
	os.Exit(m.Run())
}

// A pair is a Pod, and the node that it may land on or not.
type pair struct {
	Node *corev1.Node `json:"node"`
	Pod  *corev1.Pod  `json:"pod"`
}

// An answer is what runtimegate says of a pair.
type answer struct {
	sure  bool // the Pod may land there
	maybe bool // or devices may make up for an extended resource that is short
	// Only taints, only requests keep it off.
	tainted, small bool
}

func ask(p *pair) answer {
	placement := inventory.PlacementOf(p.Pod)
	coverage := func(loaded ...corev1.NodeRuntimeHandler) inventory.Coverage {
		node := *p.Node
		node.Status.RuntimeHandlers = loaded
		index := inventory.NewIndex(inventory.DefaultOptions)
		index.SetNode(&node)
		return index.Coverage(placement, handler, 0, now)
	}
	lacking, silent := coverage(corev1.NodeRuntimeHandler{Name: "other"}), coverage()
	return answer{
		sure:    lacking.Candidates() == 1,
		maybe:   silent.Candidates() == 1,
		tainted: silent.MaybeTainted.Count == 1,
		small:   silent.TooSmall.Count == 1,
	}
}

// schedulers are the real filters: with the gate of Gt and Lt in tolerations off
// and on, with no DeviceClass and with one for every extended resource.
type schedulers struct{ off, on, onWithDevices scheduler }

func newSchedulers() schedulers {
	return schedulers{newScheduler(false, false), newScheduler(true, false), newScheduler(true, true)}
}

// difference says where runtimegate and the real components disagree about a
// pair, "" if they do not. tally, if any, is told what kept the Pod off.
func (s schedulers) difference(p *pair, tally func(string)) string {
	got := ask(p)
	kept := &pair{Node: forgive(p.Node), Pod: p.Pod}
	if p.Pod.Spec.NodeName != "" {
		return kubeletDifference(kept, got, tally)
	}
	refusals, withDevices := s.on.refusals(kept.Pod, kept.Node), s.onWithDevices.refusals(kept.Pod, kept.Node)
	reason := strings.Join(withDevices, "+")
	if tally != nil {
		tally("scheduler: " + cmp.Or(reason, "allows"))
		if len(refusals) != len(withDevices) {
			tally("scheduler: left to devices")
		}
	}
	off := s.off.refusals(kept.Pod, kept.Node)
	switch {
	case got.sure != (len(refusals) == 0):
		return fmt.Sprintf("sure: runtimegate %t, scheduler refuses by %v", got.sure, refusals)
	case got.maybe != (reason == ""):
		return fmt.Sprintf("with devices: runtimegate %t, scheduler refuses by %v", got.maybe, withDevices)
	case got.tainted != (reason == names.TaintToleration):
		return fmt.Sprintf("tainted: runtimegate %t, scheduler refuses by %v", got.tainted, withDevices)
	case got.small != (reason == names.NodeResourcesFit):
		return fmt.Sprintf("too small: runtimegate %t, scheduler refuses by %v", got.small, withDevices)
	case len(off) == 0 && !got.sure:
		return "stricter: runtimegate refuses, and a scheduler with the default gates does not"
	case !slices.Equal(off, refusals) && !compares(p.Pod):
		return fmt.Sprintf("gate: it matters for a Pod with no Gt or Lt: %v, %v", off, refusals)
	}
	return ""
}

func kubeletDifference(p *pair, got answer, tally func(string)) string {
	refusal := kubeletRefusal(p.Pod, p.Node)
	if p.Pod.Spec.NodeName == p.Node.Name && tally != nil {
		reason, _, _ := strings.Cut(refusal, " ")
		tally("kubelet: " + cmp.Or(reason, "admits"))
	}
	if admits := refusal == ""; got.sure != admits || got.maybe != admits {
		return fmt.Sprintf("named node: runtimegate %t and %t, kubelet refuses by %q", got.sure, got.maybe, refusal)
	}
	return ""
}

func compares(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return slices.Contains(comparing, t.Operator) })
}

// forgive takes off a node what runtimegate does not hold against it: a cordon,
// taints that come and go, and that it tells nothing of what it has.
func forgive(node *corev1.Node) *corev1.Node {
	forgiven := *node
	forgiven.Spec.Unschedulable = false
	forgiven.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool {
		return slices.Contains(passingKeys, t.Key)
	})
	if len(node.Status.Allocatable) == 0 {
		forgiven.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
		for _, name := range resourceNames {
			forgiven.Status.Allocatable[name] = resource.MustParse("1P")
		}
	}
	return &forgiven
}

// TestAnswersLikeTheSchedulerAndTheKubelet is to be run for long with
//
//	go test ./schedulerdiff -run=Answers -v -args -pairs=10000000
func TestAnswersLikeTheSchedulerAndTheKubelet(t *testing.T) {
	t.Logf("%d pairs; the same again: -args -seed=%d", *pairs, *seed)
	real := newSchedulers()
	var mu sync.Mutex
	tally := map[string]int{}
	differences := 0
	var workers sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			own := map[string]int{}
			for i := worker; i < *pairs; i += runtime.GOMAXPROCS(0) {
				g := generator{rand.New(rand.NewPCG(*seed, uint64(i)))}
				p := &pair{Node: g.node(), Pod: g.pod()}
				difference := real.difference(p, func(what string) { own[what]++ })
				if difference == "" {
					continue
				}
				kind, _, _ := strings.Cut(difference, ":")
				own["difference: "+kind]++
				mu.Lock()
				if differences++; differences <= most {
					small := shrink(p, func(p *pair) bool { return strings.HasPrefix(real.difference(p, nil), kind) })
					t.Errorf("pair %d: %s\n%s", i, real.difference(small, nil), small)
				}
				mu.Unlock()
			}
			mu.Lock()
			defer mu.Unlock()
			for what, n := range own {
				tally[what] += n
			}
		})
	}
	workers.Wait()
	t.Logf("%d differences", differences)
	whats := make([]string, 0, len(tally))
	for what := range tally {
		whats = append(whats, what)
	}
	slices.Sort(whats)
	for _, what := range whats {
		t.Logf("%7d %s", tally[what], what)
	}
	if *pairs < 100_000 {
		return
	}
	for _, what := range []string{
		"scheduler: allows", "scheduler: left to devices", "scheduler: NodeAffinity", "scheduler: NodeResourcesFit", "scheduler: TaintToleration",
		"kubelet: admits", "kubelet: NodeAffinity", "kubelet: TaintToleration", "kubelet: OutOfcpu", "kubelet: OutOfnvidia.com/gpu",
	} {
		if tally[what] < 10 {
			t.Errorf("%q came up %d times: the pairs say nothing about it", what, tally[what])
		}
	}
}
