package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/runtimegate/runtimegate/inventory"
)

// The paths that the API server calls.
const (
	PodsPath      = "/validate-pods"
	WorkloadsPath = "/validate-workloads"
	ClassesPath   = "/validate-runtimeclasses"
	PoliciesPath  = "/validate-runtimepolicies"
)

// Options are what an admin chooses of the webhook.
type Options struct {
	Inventory inventory.Options
	// ClassMissing is what to do about a RuntimeClass whose handler no node has:
	// Warn, or Deny.
	ClassMissing Action
	// MaxAction caps every action: Deny, Warn or Audit.
	MaxAction Action
	// Scope and Exempt are what the webhook's configuration says: which Pods are
	// sent, and the namespaces of which none is.
	Scope  PodsScope
	Exempt []string
	// OrphanGrace is how long a NodeRuntime without a Node is left alone.
	OrphanGrace time.Duration
	// Version is that of runtimegate, for a metric.
	Version string
}

// Register adds the webhook and what feeds it to a manager, and returns what
// judges, and whether it knows the nodes. The manager is ready (check "inventory")
// once it does.
func Register(ctx context.Context, mgr manager.Manager, o Options) (judge *Gate, ready func() bool, err error) {
	index := inventory.NewIndex(o.Inventory)
	nodesSynced, err := inventory.Feed(ctx, mgr.GetCache(), index)
	if err != nil {
		return nil, nil, err
	}
	classes, labelled := newStore[*nodev1.RuntimeClass](), newStore[*metav1.PartialObjectMetadata]()
	classesSynced, err := follow(ctx, mgr.GetCache(), &nodev1.RuntimeClass{}, classes.set, classes.remove)
	if err != nil {
		return nil, nil, fmt.Errorf("watch RuntimeClasses: %w", err)
	}
	namespacesSynced, err := follow(ctx, mgr.GetCache(), namespaceObject(), labelled.set, labelled.remove)
	if err != nil {
		return nil, nil, fmt.Errorf("watch Namespaces: %w", err)
	}
	rules := newPolicies(mgr.GetLogger().WithName("policies"), namespaceLabels(labelled, mgr.GetAPIReader()))
	policiesSynced, err := rules.watch(ctx, mgr.GetCache())
	if err != nil {
		return nil, nil, err
	}
	var known atomic.Bool // from then on for good, so that no request asks again
	synced := func() bool {
		if !known.Load() && nodesSynced() && policiesSynced() && classesSynced() && namespacesSynced() {
			known.Store(true)
		}
		return known.Load()
	}
	if err := mgr.AddReadyzCheck("inventory", func(*http.Request) error {
		if !synced() {
			return errors.New("the nodes and policies are not known yet")
		}
		return nil
	}); err != nil {
		return nil, nil, fmt.Errorf("add readiness check: %w", err)
	}
	live := classesOf(mgr.GetAPIReader())
	gate := &Gate{
		Index:        index,
		Class:        orLive(classesIn(classes), live),
		LiveClass:    live,
		Classes:      classList(mgr.GetCache()),
		Rules:        rules.rules,
		Now:          time.Now,
		ClassMissing: o.ClassMissing,
		MaxAction:    o.MaxAction,
	}
	nodes := &inventoryCollector{summary: index.Summary, classes: gate.Classes, synced: synced, now: time.Now}
	if err := registerMetrics(metrics.Registry, o.Version, nodes); err != nil {
		return nil, nil, err
	}
	namespaces := namespacesOf(mgr.GetCache())
	log := mgr.GetLogger().WithName("webhook")
	serve := func(path, resource string, reviewer Reviewer, decode func([]byte) *admissionv1.AdmissionReview) {
		mgr.GetWebhookServer().Register(path, &reviewHandler{
			reviewer: reviewer,
			decode:   decode,
			ready:    synced,
			took:     seconds.WithLabelValues(resource),
			log:      log.WithValues("path", path),
		})
	}
	serve(PodsPath, "pods", &PodReviewer{Gate: gate, Decided: record("pods", log)}, decodePodReview)
	serve(WorkloadsPath, "workloads", &WorkloadReviewer{Gate: gate, Decided: record("workloads", log)}, nil)
	serve(ClassesPath, "runtimeclasses", &ClassReviewer{Gate: gate, Live: mgr.GetAPIReader(), Decided: record("runtimeclasses", log)}, nil)
	serve(PoliciesPath, "runtimepolicies", &PolicyReviewer{
		Gate: gate, Policies: rules.all, Namespaces: namespaces, Live: mgr.GetAPIReader(), Scope: o.Scope, Exempt: o.Exempt,
		Decided: record("runtimepolicies", log),
	}, nil)
	status := &policyStatus{client: mgr.GetClient(), namespaces: namespaces, scope: o.Scope, exempt: o.Exempt, maxAction: o.MaxAction}
	if err := status.register(mgr); err != nil {
		return nil, nil, err
	}
	gone := &orphans{cached: mgr.GetCache(), live: mgr.GetAPIReader(), writer: mgr.GetClient(), grace: o.OrphanGrace}
	return gate, synced, gone.register(mgr)
}
