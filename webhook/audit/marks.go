package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// MarkOptions say what is put on Nodes.
type MarkOptions struct {
	// Labels are those of handlers, Condition is inventory.HandlersReady.
	Labels, Condition bool
	// Inventory is what the webhook goes by, too.
	Inventory inventory.Options
}

// markers is how many Nodes are written to at a time: after an installation each
// of them is.
const markers = 4

// A marker puts marks on Nodes. It changes what differs and nothing else, so that
// an installer's or a person's writes to the Node are never undone.
type marker struct {
	cached  client.Reader
	writer  client.Client
	options MarkOptions
	now     func() time.Time
}

// RegisterMarks adds the controller that marks Nodes to a manager. With leader
// election one replica runs it.
func RegisterMarks(mgr manager.Manager, o MarkOptions) error {
	if !o.Labels && !o.Condition {
		return nil
	}
	err := builder.ControllerManagedBy(mgr).
		Named("node-marks").
		WithOptions(controller.Options{MaxConcurrentReconciles: markers}).
		For(&corev1.Node{}).
		Watches(&v1alpha1.NodeRuntime{}, &handler.EnqueueRequestForObject{}).
		Complete(&marker{cached: mgr.GetCache(), writer: mgr.GetClient(), options: o, now: time.Now})
	if err != nil {
		return fmt.Errorf("add the controller that marks Nodes: %w", err)
	}
	return nil
}

// Reconcile brings the marks of one Node up to date.
func (m *marker) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node, report := &corev1.Node{}, &v1alpha1.NodeRuntime{}
	if err := m.cached.Get(ctx, request.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if err := m.cached.Get(ctx, request.NamespacedName, report); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	} else if err != nil {
		report = nil
	}
	marks := inventory.MarksOf(node, report, m.options.Inventory, m.now())
	if m.options.Labels && len(marks.Labels) > 0 {
		if err := m.label(ctx, node, marks.Labels); err != nil {
			return reconcile.Result{}, err
		}
	}
	if m.options.Condition {
		if err := m.condition(ctx, node, marks.Condition); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: marks.Again}, nil
}

// label changes labels. A patch of a Node that is gone, or was made anew, changes
// nothing: it names the UID.
func (m *marker) label(ctx context.Context, node *corev1.Node, labels map[string]*string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": node.UID, "labels": labels}})
	if err != nil {
		return err
	}
	err = m.writer.Patch(ctx, bare(node), client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("label Node %q: %w", node.Name, err)
	}
	return nil
}

// condition writes the condition if it says something else than the Node's.
func (m *marker) condition(ctx context.Context, node *corev1.Node, is corev1.NodeCondition) error {
	now := metav1.NewTime(m.now())
	is.LastTransitionTime, is.LastHeartbeatTime = now, now
	for _, was := range node.Status.Conditions {
		if was.Type != is.Type {
			continue
		}
		if was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message {
			return nil
		}
		if was.Status == is.Status {
			is.LastTransitionTime = was.LastTransitionTime
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": node.UID},
		"status":   map[string]any{"conditions": []corev1.NodeCondition{is}},
	})
	if err != nil {
		return err
	}
	// Conditions are merged by their type.
	err = m.writer.Status().Patch(ctx, bare(node), client.RawPatch(types.StrategicMergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the condition %s of Node %q: %w", is.Type, node.Name, err)
	}
	return nil
}

// bare is an object for a patch to be answered into.
func bare(node *corev1.Node) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
}
