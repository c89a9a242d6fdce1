package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/e2e/harness"
	"github.com/runtimegate/runtimegate/inventory"
)

var (
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random nodes and Pods")
	pairs = flag.Int("pairs", 400, "how many of them to schedule")
)

const randomNodes = 20

// TestThePlacesOfPodsAreTheSchedulers has the real scheduler, in its process and
// behind a real API server, decide on Pods that are each for one node with
// nothing on it, and compares that with the candidates of the inventory.
// schedulerdiff compares far more Pods with the scheduler's filters alone.
//
// No node has a taint or a cordon that the inventory forgives.
func TestThePlacesOfPodsAreTheSchedulers(t *testing.T) {
	t.Logf("the same again: -args -seed=%d -pairs=%d", *seed, *pairs)
	started := time.Now()
	g := generator{rand.New(rand.NewPCG(*seed, 0))}
	c := startCluster(t)
	s := &scheduling{client: newCaller(t, c).client, tally: map[string]int{}}
	must(t, c.AddNodes(interrupted, g.nodes(randomNodes)...))
	s.readNodes(t)
	classes := g.classes(8)
	for _, class := range classes {
		_, err := s.client.NodeV1().RuntimeClasses().Create(interrupted, class, metav1.CreateOptions{})
		must(t, err)
	}
	compared := 0
	for batch := 1; compared < *pairs; batch++ {
		g := generator{rand.New(rand.NewPCG(*seed, uint64(batch)))}
		pods := make([]*corev1.Pod, len(s.nodes))
		for i := range s.nodes {
			pods[i] = g.pod(&s.nodes[i], classes)
		}
		s.compare(t, pods)
		compared += len(pods)
	}
	t.Logf("%d pairs in %s: %v", compared, time.Since(started).Round(time.Second), s.tally)
	for _, what := range []string{"scheduled", "taint", "affinity", "resources"} {
		if s.tally[what] < *pairs/40 {
			t.Errorf("%q came up %d times: the pairs say little about it", what, s.tally[what])
		}
	}
}

// A scheduling compares what becomes of Pods.
type scheduling struct {
	client kubernetes.Interface
	nodes  []corev1.Node
	index  *inventory.Index
	tally  map[string]int // of what kept Pods off their nodes, or did not
}

// lacking is a handler that no node has, and that all are known to lack: so a
// node that only devices may make fit is no candidate, as it is none for a
// scheduler with no DeviceClass.
const lacking, loaded = "lacking", "loaded"

// readNodes waits until the node controller has taken the taints off that every
// new node has, and puts the nodes into an index.
func (s *scheduling) readNodes(t *testing.T) {
	t.Helper()
	must(t, harness.Poll(interrupted, "the nodes to lose their first taints", time.Minute, func(ctx context.Context) error {
		list, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			for _, taint := range list.Items[i].Spec.Taints {
				if strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
					return fmt.Errorf("%s has %s", list.Items[i].Name, taint.ToString())
				}
			}
		}
		s.nodes = list.Items
		return nil
	}))
	s.index = inventory.NewIndex(inventory.Options{StaleAfter: time.Hour})
	for i := range s.nodes {
		node := s.nodes[i].DeepCopy()
		node.Status.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Name: loaded}}
		s.index.SetNode(node)
	}
}

// compare schedules Pods, each on its own node, and takes them away again.
func (s *scheduling) compare(t *testing.T, pods []*corev1.Pod) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	expected := make([]bool, len(pods))
	for i := range pods {
		group.Go(func() error {
			// What is answered is what a webhook sees: defaulted, with its class
			// merged into it, and with no node yet.
			pod, err := s.client.CoreV1().Pods(metav1.NamespaceDefault).Create(interrupted, pods[i], metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("%w\n%s", err, text(pods[i]))
			}
			pods[i] = pod
			candidates := s.index.Coverage(inventory.PlacementOf(pod), lacking, 0, time.Now())
			expected[i] = candidates.Candidates() > 0
			if name := s.nodes[i].Name; expected[i] && candidates.Lacks.String() != name {
				return fmt.Errorf("candidates are %s, want %s at most\n%s", candidates.Lacks, name, text(pod))
			}
			return nil
		})
	}
	must(t, group.Wait())
	for i := range pods {
		reason, err := s.wait(pods[i].Name, expected[i])
		if err != nil {
			t.Errorf("%v\n%s---\n%s", err, text(&s.nodes[i]), text(pods[i]))
		}
		s.tally[reason]++
	}
	s.clear(t)
}

// wait waits for the scheduler's decision on a Pod, and says what it was. One
// that is not the expected one gets time to change: the scheduler may still
// count the Pod that was on the node before.
func (s *scheduling) wait(name string, expected bool) (reason string, err error) {
	err = harness.Poll(interrupted, "the scheduler", 10*time.Second, func(ctx context.Context) error {
		pod, err := s.client.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		reason = "undecided"
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled {
				reason = reasonOf(condition)
			}
		}
		if reason == "undecided" || (reason == "scheduled") != expected {
			return fmt.Errorf("the scheduler: %s; the inventory: %t", reason, expected)
		}
		return nil
	})
	return reason, err
}

// reasonOf sorts what the scheduler says of a Pod that is for one node.
func reasonOf(condition corev1.PodCondition) string {
	switch {
	case condition.Status == corev1.ConditionTrue:
		return "scheduled"
	case condition.Reason != corev1.PodReasonUnschedulable:
		return "undecided"
	case strings.Contains(condition.Message, "untolerated taint"):
		return "taint"
	case strings.Contains(condition.Message, "Insufficient ") || strings.Contains(condition.Message, "Too many pods"):
		return "resources"
	case strings.Contains(condition.Message, "affinity/selector"):
		return "affinity"
	}
	return condition.Message
}

// clear removes all Pods.
func (s *scheduling) clear(t *testing.T) {
	t.Helper()
	now := int64(0)
	pods := s.client.CoreV1().Pods(metav1.NamespaceDefault)
	must(t, pods.DeleteCollection(interrupted, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}))
	must(t, harness.Poll(interrupted, "the Pods to go", time.Minute, func(ctx context.Context) error {
		left, err := pods.List(ctx, metav1.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d are left", len(left.Items))
		}
		return err
	}))
}

// text is an object for a person, without what nobody looks for.
func text(object metav1.Object) string {
	object.SetManagedFields(nil)
	out, err := yaml.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// classNamed finds a class; nil for none.
func classNamed(classes []*nodev1.RuntimeClass, name *string) *nodev1.RuntimeClass {
	for _, class := range classes {
		if name != nil && class.Name == *name {
			return class
		}
	}
	return nil
}
