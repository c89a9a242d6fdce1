package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook"
)

// ReasonHandlerLost is the reason of the Events about handlers that a node had
// loaded before the last start of its runtime.
const ReasonHandlerLost = v1alpha1.FindingHandlerLost

// gather is how long losses are gathered before a RuntimeClass gets an Event: a
// rolling restart loses a handler on node after node.
const gather = 10 * time.Second

// retold is how often a RuntimeClass is told of more nodes, at most.
const retold = 10 * time.Minute

// Register adds the controllers to a manager. The gate is the webhook's, ready
// says whether it knows the nodes, and every is the time between two looks at the
// RuntimeClasses.
func Register(mgr manager.Manager, gate *webhook.Gate, ready func() bool, every time.Duration) error {
	log := mgr.GetLogger().WithName("audit")
	events := newEventWriter(mgr.GetClient(), log)
	classes := &classAudit{gate: gate, live: mgr.GetAPIReader(), events: events, ready: ready, every: every, log: log, told: map[told]time.Time{}}
	if err := mgr.Add(classes); err != nil {
		return fmt.Errorf("add the audit of RuntimeClasses: %w", err)
	}
	return registerLost(mgr, events)
}

func registerLost(mgr manager.Manager, events *eventWriter) error {
	everywhere := false
	nodes := builder.ControllerManagedBy(mgr).
		Named("handler-lost-node").
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		For(&v1alpha1.NodeRuntime{}, builder.WithPredicates(newLosses))
	if err := nodes.Complete(&lostOnNode{mgr.GetClient(), events}); err != nil {
		return fmt.Errorf("add the controller of Nodes' Events: %w", err)
	}
	classes := builder.ControllerManagedBy(mgr).
		Named("handler-lost-runtimeclass").
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		Watches(&v1alpha1.NodeRuntime{}, handler.Funcs{
			CreateFunc: func(_ context.Context, e event.CreateEvent, queue queue) { enqueueLost(e.Object, queue) },
			UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue queue) {
				if newLosses.Update(e) {
					enqueueLost(e.ObjectNew, queue)
				}
			},
		})
	if err := classes.Complete(&lostOfClass{mgr.GetClient(), events}); err != nil {
		return fmt.Errorf("add the controller of RuntimeClasses' Events: %w", err)
	}
	return nil
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// newLosses passes reports with losses that were not in them before: not each
// heartbeat of such a report.
var newLosses = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return losses(e.Object) != "" },
	UpdateFunc: func(e event.UpdateEvent) bool {
		now := losses(e.ObjectNew)
		return now != "" && now != losses(e.ObjectOld)
	},
}

// losses are the lost handlers of a report and the start at which they went.
func losses(object client.Object) string {
	report, ok := object.(*v1alpha1.NodeRuntime)
	if !ok {
		return ""
	}
	var names []string
	for _, f := range lost(report) {
		names = append(names, f.Handler)
	}
	if names == nil {
		return ""
	}
	return start(report) + " " + strings.Join(names, " ")
}

// lost are the findings about lost handlers.
func lost(report *v1alpha1.NodeRuntime) (findings []v1alpha1.Finding) {
	for _, f := range report.Spec.Findings {
		if f.Code == v1alpha1.FindingHandlerLost && f.Handler != "" {
			findings = append(findings, f)
		}
	}
	return findings
}

func enqueueLost(object client.Object, queue queue) {
	if report, ok := object.(*v1alpha1.NodeRuntime); ok {
		for _, f := range lost(report) {
			queue.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Name: f.Handler}}, gather)
		}
	}
}

// start tells one start of a runtime from the others.
func start(report *v1alpha1.NodeRuntime) string {
	if at := report.Spec.Runtime.StartedAt; at != nil {
		return at.UTC().Format(time.RFC3339)
	}
	return ""
}

// A lostOnNode tells a Node of the handlers that it has lost.
type lostOnNode struct {
	reader client.Reader
	events *eventWriter
}

// Reconcile writes the Events of one node.
func (l *lostOnNode) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	report, node := &v1alpha1.NodeRuntime{}, &corev1.Node{}
	for _, object := range []client.Object{report, node} {
		if err := l.reader.Get(ctx, request.NamespacedName, object); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
	}
	on := corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
	for _, f := range lost(report) {
		note := f.Message
		if f.File != "" {
			note += fmt.Sprintf(" (%s:%d)", f.File, f.Line)
		}
		if err := l.events.warn(ctx, on, ReasonHandlerLost, note, f.Handler, start(report)); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

// A lostOfClass tells the RuntimeClasses of a handler which nodes have lost it.
type lostOfClass struct {
	reader client.Reader
	events *eventWriter
}

// Reconcile writes the Events of one handler, whose name is the request's.
func (l *lostOfClass) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	reports, classes := &v1alpha1.NodeRuntimeList{}, &nodev1.RuntimeClassList{}
	for _, list := range []client.ObjectList{reports, classes} {
		if err := l.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return reconcile.Result{}, err
		}
	}
	var nodes []string
	for i := range reports.Items {
		report := &reports.Items[i]
		if slices.ContainsFunc(lost(report), func(f v1alpha1.Finding) bool { return f.Handler == request.Name }) {
			nodes = append(nodes, report.Name)
		}
	}
	if len(nodes) == 0 {
		return reconcile.Result{}, nil
	}
	slices.Sort(nodes)
	// A rolling restart loses it on node after node: that is not told each time.
	window := time.Now().Truncate(retold).Format(time.RFC3339)
	for i := range classes.Items {
		class := &classes.Items[i]
		if class.Handler != request.Name {
			continue
		}
		on := corev1.ObjectReference{APIVersion: nodev1.SchemeGroupVersion.String(), Kind: "RuntimeClass", Name: class.Name, UID: class.UID}
		if err := l.events.warn(ctx, on, ReasonHandlerLost, lostNote(class.Handler, nodes), window); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

// lostNote is what a RuntimeClass is told, for sorted names of nodes.
func lostNote(name string, nodes []string) string {
	sample, where := strings.Join(nodes[:min(len(nodes), inventory.SampleSize)], ", "), "node"
	if more := len(nodes) - inventory.SampleSize; more > 0 {
		sample += fmt.Sprintf(" and %d more", more)
	}
	if len(nodes) > 1 {
		where = fmt.Sprintf("%d nodes", len(nodes))
	}
	return fmt.Sprintf("handler %q is gone since the last start of the runtime on %s %s: new Pods of this class can't start there; kubectl get nruntime %s -o yaml says why",
		name, where, sample, nodes[0])
}
