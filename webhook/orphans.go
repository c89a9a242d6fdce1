package webhook

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// DefaultOrphanGrace is how long a NodeRuntime without a Node is left alone.
const DefaultOrphanGrace = 10 * time.Minute

// orphans removes the NodeRuntimes of nodes that are no more. Any number of
// replicas may run it: what one has removed the others do not find, and what was
// written since one has looked is not removed.
type orphans struct {
	cached client.Reader
	live   client.Reader
	writer client.Writer
	grace  time.Duration
}

// register adds the controller to a manager.
func (o *orphans) register(mgr manager.Manager) error {
	everywhere := false
	toLookAt := predicate.Funcs{
		// At the start all are new, and hardly any is an orphan.
		CreateFunc: func(e event.CreateEvent) bool { return o.mayBecome(e.Object) },
		// A watch that was interrupted may show a Node that was made anew as changed.
		UpdateFunc: func(e event.UpdateEvent) bool { return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() },
	}
	err := builder.ControllerManagedBy(mgr).
		Named("noderuntime-orphans").
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		For(&v1alpha1.NodeRuntime{}).
		Watches(&corev1.Node{}, &handler.EnqueueRequestForObject{}).
		WithEventFilter(toLookAt).
		Complete(o)
	if err != nil {
		return fmt.Errorf("add the controller that removes NodeRuntimes: %w", err)
	}
	return nil
}

// mayBecome says whether the NodeRuntime of a node, one of which two is given, is an
// orphan or may become one by itself. Of what is not known yet it says yes.
func (o *orphans) mayBecome(object client.Object) bool {
	ctx := context.Background() // both are in memory
	report, isReport := object.(*v1alpha1.NodeRuntime)
	node, isNode := object.(*corev1.Node)
	var err error
	if !isReport {
		report = &v1alpha1.NodeRuntime{}
		err = o.cached.Get(ctx, client.ObjectKeyFromObject(object), report, client.UnsafeDisableDeepCopy)
	}
	if !isNode && err == nil {
		node, err = readNode(ctx, o.cached, object.GetName())
	}
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	is, again := orphaned(report, node, o.grace, time.Now())
	return is || again > 0
}

// Reconcile removes a NodeRuntime if it is of a node that is no more.
func (o *orphans) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	report := &v1alpha1.NodeRuntime{}
	if err := o.cached.Get(ctx, request.NamespacedName, report); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	node, err := readNode(ctx, o.cached, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	isOrphan, again := orphaned(report, node, o.grace, time.Now())
	if !isOrphan {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	if node == nil {
		// The cache may be behind. When it has the Node, this is asked again.
		if node, err = readNode(ctx, o.live, request.Name); err != nil || node != nil {
			return reconcile.Result{}, err
		}
	}
	return o.remove(ctx, report)
}

// remove deletes a NodeRuntime as it was read, not one that was written since.
func (o *orphans) remove(ctx context.Context, report *v1alpha1.NodeRuntime) (reconcile.Result, error) {
	err := o.writer.Delete(ctx, report, client.Preconditions{UID: &report.UID, ResourceVersion: &report.ResourceVersion})
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: time.Second}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("remove NodeRuntime %q, whose Node is gone: %w", report.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Removed the NodeRuntime of a node that is gone")
	return reconcile.Result{}, nil
}

// readNode returns a Node, which must not be changed, and nil if there is none.
func readNode(ctx context.Context, reader client.Reader, name string) (*corev1.Node, error) {
	node := &corev1.Node{}
	err := reader.Get(ctx, client.ObjectKey{Name: name}, node, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Node %q: %w", name, err)
	}
	return node, nil
}

// orphaned says whether a NodeRuntime is of a node that is no more: there is no
// Node of its name (nil), or one that was made after it was last written. Where
// that may yet change, it says no, and after how long to ask again: a reporter
// may start before the kubelet registers the node, and one that goes on after a
// Node was made anew writes within its heartbeat.
func orphaned(report *v1alpha1.NodeRuntime, node *corev1.Node, grace time.Duration, now time.Time) (is bool, again time.Duration) {
	since := report.CreationTimestamp
	if node != nil {
		since = node.CreationTimestamp
		// renewedAt is by the clock of the node: one that is wrong must not have
		// a reporter's object removed after each of its writes.
		if !report.CreationTimestamp.Before(&since) || !report.Spec.RenewedAt.Before(&since) {
			return false, 0
		}
	}
	again = since.Add(grace).Sub(now)
	return again <= 0, max(again, 0)
}
