package audit

import (
	"context"
	"fmt"
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
	// told are the conditions of each class that were told.
	told map[types.UID][]webhook.Condition
}

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
	told := map[types.UID][]webhook.Condition{}
	for _, class := range a.gate.Classes(ctx) {
		verdict := a.gate.RuntimeClass(&class)
		now, fresh := a.changes(class.UID, verdict)
		if err := a.tell(ctx, &class, verdict, fresh); err != nil {
			a.log.Error(err, "Can't tell what is the matter with a RuntimeClass; it is tried again", "runtimeClass", class.Name)
			now = a.told[class.UID]
		}
		if len(now) > 0 {
			told[class.UID] = now
		}
	}
	a.told = told
}

// changes are the conditions that a verdict has, and those of them that were not
// told yet.
func (a *classAudit) changes(class types.UID, verdict webhook.Verdict) (now, fresh []webhook.Condition) {
	for _, f := range verdict.Findings {
		if !slices.Contains(latent, f.Condition) || slices.Contains(now, f.Condition) {
			continue
		}
		now = append(now, f.Condition)
		if !slices.Contains(a.told[class], f.Condition) {
			fresh = append(fresh, f.Condition)
		}
	}
	return now, fresh
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
	told, left := 0, 0
	var failed error
	err := a.gate.Recheck(ctx, a.live, class.Name, func(on corev1.ObjectReference, verdict webhook.Verdict) {
		switch {
		case !slices.ContainsFunc(verdict.Findings, func(f webhook.Finding) bool { return slices.Contains(fresh, f.Condition) }):
		case told == maxWorkloads:
			left++
		default:
			told++
			if err := a.tellFindings(ctx, on, verdict, fresh); err != nil && failed == nil {
				failed = err
			}
		}
	})
	a.log.Info("A RuntimeClass's handler is in a new state", "runtimeClass", class.Name, "handler", class.Handler, "conditions", fresh, "workloadsTold", told, "workloadsNotTold", left)
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
		if err := a.events.warn(ctx, on, reason(f.Condition), f.Detail, f.Detail); err != nil {
			return err
		}
	}
	return nil
}
