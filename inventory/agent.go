package inventory

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"

	"github.com/runtimegate/runtimegate/inventory/cri"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// The intervals of an Agent, unless it is told others.
const (
	// DefaultPoll is the time between two looks at the runtime.
	DefaultPoll = 15 * time.Second
	// DefaultHeartbeat is the time after which an unchanged report is written
	// again, give or take a fifth.
	DefaultHeartbeat = 5 * time.Minute
	// settle is how long an Agent waits after a hint: who writes files writes
	// several.
	settle = 500 * time.Millisecond
	// publishTimeout bounds one write.
	publishTimeout = 15 * time.Second
)

// An Agent keeps the NodeRuntime of its node up to date. It writes only when
// something has changed, and else its heartbeat.
type Agent struct {
	// Node is the name of the node.
	Node string
	// Observe looks at the node.
	Observe func(context.Context) (*Observation, error)
	// Publish writes a report.
	Publish func(context.Context, *v1alpha1.NodeRuntime) error
	// Published is what a process before has published; nil for nothing.
	Published *v1alpha1.NodeRuntime
	// Hints say that a look is worth while before the next poll.
	Hints <-chan struct{}
	// Poll and Heartbeat are the intervals; 0 for the usual ones.
	Poll, Heartbeat time.Duration
	Log             logr.Logger

	memory  memory
	failing bool // the last look or write failed, which was logged
}

// Run looks and publishes until ctx ends.
func (a *Agent) Run(ctx context.Context) {
	if a.Poll == 0 {
		a.Poll = DefaultPoll
	}
	if a.Heartbeat == 0 {
		a.Heartbeat = DefaultHeartbeat
	}
	a.memory.node = a.Node
	if a.Published != nil {
		a.memory.restore(a.Published, jittered(a.Heartbeat, rand.Float64()))
	}
	poll := time.NewTimer(0)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-a.Hints:
			if !sleep(ctx, settle) {
				return
			}
		}
		a.look(ctx)
		poll.Reset(a.Poll)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// look looks once and publishes what has changed. What can't be written is
// tried again at the next look.
func (a *Agent) look(ctx context.Context) {
	seen, err := a.Observe(ctx)
	if ctx.Err() != nil {
		return
	}
	var report *v1alpha1.NodeRuntime
	if err == nil {
		a.memory.recall(seen)
		report, err = FromStatus(seen, a.Node)
	}
	a.tell(err, "The runtime does not answer", "reason", cri.ReasonOf(err))
	now := time.Now()
	if report = a.memory.after(report, err, now); report == nil {
		return
	}
	write, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if err := a.Publish(write, report); err != nil {
		a.Log.Error(err, "Can't publish", "node", a.Node)
		return
	}
	a.memory.written(report, now.Add(jittered(a.Heartbeat, rand.Float64())))
	a.Log.V(1).Info("Published", "node", a.Node, "handlers", report.Spec.Summary.Handlers, "findings", report.Spec.Summary.Findings)
}

// tell logs the first failure of a row, and the end of the row.
func (a *Agent) tell(err error, message string, values ...any) {
	switch {
	case err != nil && !a.failing:
		a.Log.Error(err, message, append(values, "node", a.Node)...)
	case err == nil && a.failing:
		a.Log.Info("The runtime answers again", "node", a.Node)
	}
	a.failing = err != nil
}
