package webhook

import (
	"context"
	"fmt"
	"net/http"
	"time"

	nodev1 "k8s.io/api/node/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/runtimegate/runtimegate/inventory"
)

// The paths that the API server calls.
const (
	PodsPath    = "/validate-pods"
	ClassesPath = "/validate-runtimeclasses"
)

// Options are what an admin chooses of the webhook.
type Options struct {
	Inventory inventory.Options
	// ClassMissing is what to do about a RuntimeClass whose handler no node has:
	// Warn, or Deny.
	ClassMissing Action
}

// Register adds the webhook and what feeds it to a manager. The manager is
// ready (check "inventory") once the nodes are known.
func Register(ctx context.Context, mgr manager.Manager, o Options) error {
	index := inventory.NewIndex(o.Inventory)
	nodesSynced, err := inventory.Feed(ctx, mgr.GetCache(), index)
	if err != nil {
		return err
	}
	classes, err := mgr.GetCache().GetInformer(ctx, &nodev1.RuntimeClass{})
	if err != nil {
		return fmt.Errorf("watch RuntimeClasses: %w", err)
	}
	synced := func() bool { return nodesSynced() && classes.HasSynced() }
	if err := mgr.AddReadyzCheck("inventory", func(*http.Request) error {
		if !synced() {
			return fmt.Errorf("the nodes are not known yet")
		}
		return nil
	}); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	if err := metrics.Registry.Register(decisions); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	live := classesOf(mgr.GetAPIReader())
	reviewers := map[string]Reviewer{
		PodsPath: &PodReviewer{
			Index:     index,
			Class:     orLive(classesOf(mgr.GetCache()), live),
			LiveClass: live,
			Now:       time.Now,
			Decided:   count("pods"),
		},
		ClassesPath: &ClassReviewer{
			Index:   index,
			Missing: o.ClassMissing,
			Now:     time.Now,
			Decided: count("runtimeclasses"),
		},
	}
	for path, reviewer := range reviewers {
		mgr.GetWebhookServer().Register(path, &reviewHandler{
			reviewer: reviewer,
			ready:    synced,
			log:      mgr.GetLogger().WithName("webhook").WithValues("path", path),
		})
	}
	return nil
}
