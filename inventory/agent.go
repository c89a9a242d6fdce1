package inventory

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/runtimegate/runtimegate/inventory/cri"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// The intervals of an Agent, unless it is told others.
const (
	// DefaultPoll is the time between two looks at the runtime, give or take a
	// fifth: nodes that were started together don't stay in step.
	DefaultPoll = 15 * time.Second
	// DefaultHeartbeat is the time after which an unchanged report is written
	// again, give or take a fifth.
	DefaultHeartbeat = 5 * time.Minute
	// settle is how long an Agent waits after a hint: who writes files writes
	// several.
	settle = 500 * time.Millisecond
	// publishTimeout bounds one write. An API server that has much to do takes
	// long, and what is broken off it has done in vain.
	publishTimeout = 30 * time.Second
)

// pauses are those after writes that fail: 1 to 2 seconds, and at last half a
// minute to a minute. Over that time the reports spread that an API server has
// missed when it comes back.
var pauses = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 1, Steps: 6, Cap: 30 * time.Second}

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
	failing bool // the last look failed, which was logged
	// pending is what the cluster lacks; nil for nothing. What a later look sees
	// takes its place.
	pending *v1alpha1.NodeRuntime
	pause   wait.Backoff
	random  func() float64
}

// Run looks and publishes until ctx ends.
func (a *Agent) Run(ctx context.Context) {
	if a.Poll == 0 {
		a.Poll = DefaultPoll
	}
	if a.Heartbeat == 0 {
		a.Heartbeat = DefaultHeartbeat
	}
	if a.random == nil {
		a.random = rand.Float64
	}
	a.pause, a.memory.node = pauses, a.Node
	if a.Published != nil {
		a.memory.restore(a.Published, jittered(a.Heartbeat, a.random()), time.Now())
	}
	poll := time.NewTimer(0)
	defer poll.Stop()
	var retry <-chan time.Time // nil unless the last write failed
	for {
		select {
		case <-ctx.Done():
			return
		case <-retry:
			retry = nil
		case <-a.Hints:
			if !sleep(ctx, settle) {
				return
			}
			poll.Reset(0)
		case <-poll.C:
			a.look(ctx)
			poll.Reset(jittered(a.next(), a.random()))
		}
		if retry == nil {
			retry = a.write(ctx)
		}
	}
}

// next is the time until the next look. A runtime that has just gone is mostly
// about to come back.
func (a *Agent) next() time.Duration {
	if a.failing && !a.memory.isSilent(time.Now()) {
		return min(a.Poll, silentAfter/5)
	}
	return a.Poll
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

// look looks once, and keeps what is to be written.
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
	message, reason := "The runtime does not answer", cri.ReasonOf(err)
	if reason == "" { // it does, as with no handlers at all
		message = "The runtime does not tell what it has loaded"
	}
	a.tell(err, message, "reason", reason)
	a.pending = a.memory.after(report, err, time.Now())
}

// write writes what the cluster lacks. If that fails, the channel that it
// returns says when to try again.
func (a *Agent) write(ctx context.Context) <-chan time.Time {
	if a.pending == nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	err := a.Publish(bounded, a.pending)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		a.memory.unwritten()
		pause := a.pause.Step()
		a.Log.Error(err, "Can't publish", "node", a.Node, "next try in", pause.Round(time.Millisecond).String())
		return time.After(pause)
	}
	a.memory.written(a.pending, time.Now().Add(jittered(a.Heartbeat, a.random())))
	summary := a.pending.Spec.Summary
	a.Log.V(1).Info("Published", "node", a.Node, "handlers", summary.Handlers, "findings", summary.Findings)
	a.pending, a.pause = nil, pauses
	return nil
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
