package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/runtimegate/runtimegate/webhook"
)

// DefaultInterval is how often the RuntimeClasses are judged anew.
const DefaultInterval = 30 * time.Second

// maxWorkloads is how many workloads are told of one change of a class.
const maxWorkloads = 1000

// latent are the conditions that can come over what was admitted long ago: what
// runs goes on, and does not come back.
var latent = []webhook.Condition{webhook.Missing, webhook.Broken, webhook.Expiring}

// reason is the reason of the Events about a condition.
func reason(c webhook.Condition) string { return "Handler" + string(c) }

// A classAudit tells RuntimeClasses what is the matter with their handler, and,
// when that is new, the workloads that name them.
type classAudit struct {
	gate   *webhook.Gate
	live   webhook.Lister
	events *eventWriter
	ready  func() bool
	every  time.Duration
	log    logr.Logger
	// told is when each condition of each class was last seen, after it was told.
	told map[told]time.Time
}

// A told is a condition of a class.
type told struct {
	class     types.UID
	condition webhook.Condition
}

// forgotten is how long a condition must be gone to be told again: a pool that
// grows and shrinks makes Missing of Unknown, and back.
const forgotten = time.Hour

// Start implements manager.Runnable: it returns when ctx is done.
func (a *classAudit) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if a.ready() {
			a.look(ctx)
		}
	}, a.every)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: listing all
// workloads once is enough.
func (a *classAudit) NeedLeaderElection() bool { return true }

// look judges all classes.
func (a *classAudit) look(ctx context.Context) {
	now := time.Now()
	maps.DeleteFunc(a.told, func(_ told, seen time.Time) bool { return now.Sub(seen) > forgotten })
	for _, class := range a.gate.Classes(ctx) {
		verdict := a.gate.RuntimeClass(&class)
		all, fresh := a.changes(class.UID, verdict)
		if err := a.tell(ctx, &class, verdict, fresh); err != nil {
			a.log.Error(err, "Can't tell what is the matter with a RuntimeClass; it is tried again", "runtimeClass", class.Name)
			continue
		}
		for _, condition := range all {
			a.told[told{class.UID, condition}] = now
		}
	}
}

// changes are the conditions that a verdict has, and those of them that were not
// told yet.
func (a *classAudit) changes(class types.UID, verdict webhook.Verdict) (all, fresh []webhook.Condition) {
	for _, f := range verdict.Findings {
		if !slices.Contains(latent, f.Condition) || slices.Contains(all, f.Condition) {
			continue
		}
		all = append(all, f.Condition)
		if _, ok := a.told[told{class, f.Condition}]; !ok {
			fresh = append(fresh, f.Condition)
		}
	}
	return all, fresh
}

// tell writes the Events about conditions that are new.
func (a *classAudit) tell(ctx context.Context, class *nodev1.RuntimeClass, verdict webhook.Verdict, fresh []webhook.Condition) error {
	if len(fresh) == 0 {
		return nil
	}
	on := corev1.ObjectReference{APIVersion: nodev1.SchemeGroupVersion.String(), Kind: "RuntimeClass", Name: class.Name, UID: class.UID}
	if err := a.tellFindings(ctx, on, verdict, fresh); err != nil {
		return err
	}
	count, left := 0, 0
	var failed error
	err := a.gate.Recheck(ctx, a.live, class.Name, func(on corev1.ObjectReference, verdict webhook.Verdict) {
		switch {
		case !slices.ContainsFunc(verdict.Findings, func(f webhook.Finding) bool { return slices.Contains(fresh, f.Condition) }):
		case count == maxWorkloads:
			left++
		default:
			count++
			if err := a.tellFindings(ctx, on, verdict, fresh); err != nil && failed == nil {
				failed = err
			}
		}
	})
	a.log.Info("A RuntimeClass's handler is in a new state", "runtimeClass", class.Name, "handler", class.Handler, "conditions", fresh, "workloadsTold", count, "workloadsNotTold", left)
	if failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("look for what names RuntimeClass %q: %w", class.Name, err)
	}
	return nil
}

func (a *classAudit) tellFindings(ctx context.Context, on corev1.ObjectReference, verdict webhook.Verdict, fresh []webhook.Condition) error {
	for _, f := range verdict.Findings {
		if !slices.Contains(fresh, f.Condition) {
			continue
		}
		if err := a.events.warn(ctx, on, reason(f.Condition), f.Detail, f.Handler); err != nil {
			return err
		}
	}
	return nil
}
