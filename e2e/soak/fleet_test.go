package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"golang.org/x/sync/errgroup"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A fleet is the nodes, their reporters, and a watch such as the manager has.
type fleet struct {
	nodes   map[string]*node
	now     atomic.Pointer[phase]
	client  client.Client // goes through the link
	running sync.WaitGroup
	due     sync.WaitGroup // restarts
	stop    context.CancelFunc
}

// newFleet makes nodes of the names given. None of them reports yet.
func newFleet(names []string, c client.Client, seen *inventory.Observation) *fleet {
	f := &fleet{nodes: map[string]*node{}, client: c}
	for _, name := range names {
		own := *seen
		f.nodes[name] = newNode(name, &own)
	}
	return f
}

// registered is a Node as the node controller leaves it when its kubelet is gone:
// there is none, and what the controller would write later would be measured.
func registered(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: corev1.ConditionUnknown})
	}
	n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
	return n
}

// register makes the Nodes in the API server.
func (f *fleet) register(ctx context.Context, c kubernetes.Interface) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for name := range f.nodes {
		group.Go(func() error {
			_, err := c.CoreV1().Nodes().Create(ctx, registered(name), metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

// placed is how many reporters start in a second: no scheduler places more Pods.
const placed = 300

// report starts the reporters, as when their DaemonSet is new.
func (f *fleet) report(ctx context.Context) {
	ctx, f.stop = context.WithCancel(ctx)
	for _, n := range f.nodes {
		time.Sleep(time.Second / placed)
		agent := &inventory.Agent{
			Node: n.name, Observe: n.observe, Hints: n.hints, Log: logr.Discard(),
			Publish: func(ctx context.Context, r *v1alpha1.NodeRuntime) error { return f.publish(ctx, n, r) },
		}
		f.running.Go(func() { agent.Run(ctx) })
	}
}

// publish writes as a reporter does. A write that has begun is not broken off at
// the end, so that it is known what came of it.
func (f *fleet) publish(ctx context.Context, n *node, report *v1alpha1.NodeRuntime) error {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	started := time.Now()
	err := inventory.Publish(ctx, f.client, report)
	if err != nil {
		f.now.Load().failed.Add(1)
	} else {
		f.now.Load().writes.add(time.Since(started))
	}
	n.wrote(report, err)
	return err
}

// watch follows the NodeRuntimes as the manager does.
func (f *fleet) watch(ctx context.Context, objects cache.Cache) error {
	informer, err := objects.GetInformer(ctx, &v1alpha1.NodeRuntime{})
	if err != nil {
		return err
	}
	see := func(obj any) {
		report, ok := obj.(*v1alpha1.NodeRuntime)
		if !ok {
			return
		}
		f.now.Load().events.Add(1)
		if n := f.nodes[report.Name]; n != nil {
			n.watched(report)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }})
	return err
}

// restart restarts each node once within a time, but for the probe.
func (f *fleet) restart(within time.Duration, loads *inventory.Observation) {
	for name, n := range f.nodes {
		if name == probeNode {
			continue
		}
		f.due.Add(1)
		time.AfterFunc(rand.N(within), func() {
			defer f.due.Done()
			n.restart(f.now.Load(), *loads)
		})
	}
}

// unsettled counts the nodes of which something is still to be written or seen.
func (f *fleet) unsettled() error {
	count, example := 0, ""
	for _, n := range f.nodes {
		if !n.settled() {
			count, example = count+1, n.name
		}
	}
	if count > 0 {
		return fmt.Errorf("of %d nodes, as %s, not all is written and seen", count, example)
	}
	return nil
}

// compare looks for updates that were lost: it compares what the API server has
// with what the reporters, which have ended, wrote last, and with the nodes.
func (f *fleet) compare(t *testing.T, c client.Client) {
	list := &v1alpha1.NodeRuntimeList{}
	must(t, c.List(interrupted, list))
	if len(list.Items) != len(f.nodes) {
		t.Errorf("%d NodeRuntimes of %d nodes", len(list.Items), len(f.nodes))
	}
	lost := 0
	for i := range list.Items {
		report := &list.Items[i]
		n := f.nodes[report.Name]
		if n == nil || !equality.Semantic.DeepEqual(report.Spec, n.written.Spec) || !n.isTrue(report) {
			if lost++; lost <= 3 {
				t.Errorf("NodeRuntime %s is not what its reporter wrote last, or not true: %+v", report.Name, report.Spec)
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d updates are lost", lost)
	}
}
