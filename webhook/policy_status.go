package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
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

// ReadyCondition is the condition of a RuntimePolicy that says whether all of it
// is enforced.
const ReadyCondition = "Ready"

// The reasons of ReadyCondition.
const (
	ReasonEnforced = "Enforced"
	// ReasonInvalid: nothing is enforced, since the policy makes no sense.
	ReasonInvalid = "Invalid"
	// ReasonDefaultNotEnforced: allowDefault is false, and the webhook is not
	// asked about Pods that name no class.
	ReasonDefaultNotEnforced = "DefaultNotEnforced"
)

// statusSettle is how long the status controller waits when it sees a status
// change that comes with no change of the spec. Several replicas write the same
// status; if their flags differ, as while a change of them is rolled out, each
// puts its own back that seldom.
const statusSettle = 10 * time.Second

// A policyStatus keeps the status of RuntimePolicies. Any number of replicas may
// run it: a status follows from the policy, the namespaces and the flags alone,
// and a write that is based on an old one fails.
type policyStatus struct {
	client     client.Client
	namespaces func(context.Context) (map[string]labels.Set, error)
	scope      PodsScope
	exempt     []string
	maxAction  Action
}

// register adds the controller to a manager.
func (s *policyStatus) register(mgr manager.Manager) error {
	everywhere := false
	err := builder.ControllerManagedBy(mgr).
		Named("runtimepolicy-status").
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		Watches(&v1alpha1.RuntimePolicy{}, handler.Funcs{CreateFunc: created, UpdateFunc: updated}).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(s.all), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Complete(s)
	if err != nil {
		return fmt.Errorf("add the controller of RuntimePolicies' status: %w", err)
	}
	return nil
}

type policyQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func created(_ context.Context, e event.CreateEvent, queue policyQueue) {
	queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
}

func updated(_ context.Context, e event.UpdateEvent, queue policyQueue) {
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)}
	if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
		queue.Add(request)
		return
	}
	queue.AddAfter(request, statusSettle)
}

// all asks for all policies.
func (s *policyStatus) all(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &v1alpha1.RuntimePolicyList{}
	if err := s.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache is stopping
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// Reconcile writes the status of a policy if it is not what it should be.
func (s *policyStatus) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	policy := &v1alpha1.RuntimePolicy{}
	if err := s.client.Get(ctx, request.NamespacedName, policy); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	namespaces, err := s.namespaces(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("list namespaces: %w", err)
	}
	before := policy.DeepCopy()
	s.set(policy, namespaces)
	if equality.Semantic.DeepEqual(policy.Status, before.Status) {
		return reconcile.Result{}, nil
	}
	err = s.client.Status().Patch(ctx, policy, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		// Another replica was faster, and the cache will soon have what it wrote.
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	if err = client.IgnoreNotFound(err); err != nil {
		return reconcile.Result{}, fmt.Errorf("write the status of RuntimePolicy %q: %w", request.Name, err)
	}
	return reconcile.Result{}, nil
}

// set puts the status of a policy as it should be.
func (s *policyStatus) set(object *v1alpha1.RuntimePolicy, namespaces map[string]labels.Set) {
	ready := metav1.Condition{Type: ReadyCondition, ObservedGeneration: object.Generation}
	policy, err := NewPolicy(object)
	if err != nil {
		object.Status.MatchedNamespaces = nil
		ready.Status, ready.Reason = metav1.ConditionFalse, ReasonInvalid
		ready.Message = fmt.Sprintf("not enforced: %v", err)
		meta.SetStatusCondition(&object.Status.Conditions, ready)
		return
	}
	selected, exempt := int32(0), []string(nil)
	for name, set := range namespaces {
		if policy.selector.Matches(set) {
			selected++
			if slices.Contains(s.exempt, name) {
				exempt = append(exempt, name)
			}
		}
	}
	slices.Sort(exempt)
	object.Status.MatchedNamespaces = &selected
	ready.Status, ready.Reason = metav1.ConditionTrue, ReasonEnforced
	enforced := fmt.Sprintf("enforced in %s", plural(int(selected)-len(exempt), "namespace"))
	if len(exempt) > 0 {
		enforced += fmt.Sprintf(", not in %s: the webhook leaves these out", strings.Join(exempt, ", "))
	}
	parts := []string{enforced}
	if !policy.allowDefault && s.scope != ScopeAll {
		ready.Status, ready.Reason = metav1.ConditionFalse, ReasonDefaultNotEnforced
		parts = []string{"allowDefault: false is not enforced: " + unaskedHint, "the rest is " + enforced}
	}
	if s.maxAction < Deny {
		parts = append(parts, fmt.Sprintf("nothing is denied: runtimegate runs with --max-action=%s", s.maxAction))
	}
	ready.Message = strings.Join(parts, "; ")
	meta.SetStatusCondition(&object.Status.Conditions, ready)
}
