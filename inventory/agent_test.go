package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/cri"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A fakeNode is a node with its API server.
type fakeNode struct {
	loaded  *config.Status // nil: the runtime does not answer
	refused bool           // the API server takes nothing
	started time.Time
	written []string
	last    *v1alpha1.NodeRuntime
}

func (f *fakeNode) agent() *Agent {
	return &Agent{
		Node: "n",
		Observe: func(context.Context) (*Observation, error) {
			if f.loaded == nil {
				return nil, errors.New("connection refused")
			}
			return &Observation{Loaded: f.loaded, Next: &config.Result{Daemon: config.DaemonAnswer{State: config.Running, CRI: f.loaded.CRI}}, At: time.Now()}, nil
		},
		Publish: func(_ context.Context, r *v1alpha1.NodeRuntime) error {
			if f.refused {
				return errors.New("refused")
			}
			f.last = r.DeepCopy()
			line := fmt.Sprintf("%s %s", time.Since(f.started).Round(time.Second), r.Spec.Summary.Handlers)
			if found := r.Spec.Summary.Findings; found != "" {
				line += " " + found
			}
			f.written = append(f.written, line)
			return nil
		},
		Log:    logr.Discard(),
		random: func() float64 { return 0.5 }, // the intervals as they are
	}
}

// run lets the agent run in a bubble of its own time while steps play.
func run(t *testing.T, f *fakeNode, change func(*Agent), steps func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f.started = time.Now()
		agent := f.agent()
		if change != nil {
			change(agent)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { agent.Run(ctx); close(ended) }()
		steps()
		synctest.Wait()
		cancel()
		<-ended
	})
}

func check(t *testing.T, f *fakeNode, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, f.written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestAgentWritesOnlyChanges(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("runc")}
	run(t, f, nil, func() {
		time.Sleep(3*time.Minute - time.Second) // between two looks
		f.loaded = loadedWith("nvidia", "runc")
		time.Sleep(16 * time.Second)
	})
	check(t, f, "0s runc", "3m0s nvidia, runc")
}

func TestAgentRenews(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("runc")}
	run(t, f, func(a *Agent) { a.random = nil }, func() { time.Sleep(time.Hour) })
	// An hour has 10 to 15 heartbeats of 4 to 6 minutes, rounded up to a poll.
	if n := len(f.written); n < 9 || n > 16 {
		t.Errorf("%d writes: %q", n, f.written)
	}
	if f.last.Spec.ObservedAt != f.last.Spec.RenewedAt {
		t.Errorf("observed at %s, renewed at %s", f.last.Spec.ObservedAt, f.last.Spec.RenewedAt)
	}
}

func TestAgentKeepsTheListOfASilentRuntime(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("nvidia", "runc")}
	run(t, f, nil, func() {
		time.Sleep(time.Second)
		f.loaded = nil // from the look at 15 s on
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		spec := &f.last.Spec
		if age := spec.RenewedAt.Sub(spec.ObservedAt.Time); age < 4*time.Minute {
			t.Errorf("the list is as of %s before it was renewed", age)
		}
		if !strings.Contains(spec.Findings[0].Message, "connection refused") || len(spec.Handlers) != 2 {
			t.Errorf("spec %+v", spec)
		}
		f.loaded = loadedWith("nvidia", "runc")
		time.Sleep(16 * time.Second)
	})
	if len(f.written) < 4 {
		t.Fatalf("written %q", f.written)
	}
	if got := f.written[:2]; got[0] != "0s nvidia, runc" || got[1] != "25s nvidia, runc RuntimeUnreachable" {
		t.Errorf("written %q", got)
	}
	if got := f.written[len(f.written)-1]; !strings.HasSuffix(got, " nvidia, runc") {
		t.Errorf("at last %q", got)
	}
}

// TestAgentSaysOfAnAnswerThatItIsOne: who is paged for a runtime that is up looks at what
// it answers, not for why it is down.
func TestAgentSaysOfAnAnswerThatItIsOne(t *testing.T) {
	for want, failure := range map[string]error{
		"the runtime does not answer; the handlers are those of its last answer: CRI socket /s: connection refused": &cri.Error{Reason: cri.Unreachable, Socket: "/s", Err: errors.New("connection refused")},
		"the runtime does not tell what it has loaded; the handlers are those of its last answer: no handler":       errors.New("no handler"),
	} {
		m := &memory{node: "n", missing: time.Unix(0, 0), seen: report("n", ago(0), "runc")}
		got := m.silent(failure, time.Unix(100, 0)).Spec.Findings
		if len(got) != 1 || got[0].Code != v1alpha1.FindingRuntimeUnreachable || got[0].Message != want {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}

// TestAgentSaysOfWhatIsDownThatItIs: what would have kept the runtime from starting
// has kept it.
func TestAgentSaysOfWhatIsDownThatItIs(t *testing.T) {
	m := &memory{node: "n", missing: time.Unix(0, 0), seen: &v1alpha1.NodeRuntime{Spec: v1alpha1.NodeRuntimeSpec{
		Findings: []v1alpha1.Finding{{Code: config.CodeDaemonWillNotStart, Message: "will not start: a line; " + config.FixBeforeRestart}},
	}}}
	report := m.silent(errors.New("connection refused"), time.Unix(100, 0))
	if got, want := report.Spec.Findings[1].Message, "will not start: a line; mend this, then start the runtime"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := m.seen.Spec.Findings[0].Message; !strings.HasSuffix(got, config.FixBeforeRestart) {
		t.Errorf("what was seen has changed: %q", got)
	}
}

func TestAgentSaysNothingOfARestart(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("runc")}
	run(t, f, nil, func() {
		time.Sleep(time.Second)
		was := f.loaded
		f.loaded = nil
		time.Sleep(15 * time.Second) // one look
		f.loaded = was
		time.Sleep(time.Minute)
	})
	check(t, f, "0s runc")
}

func TestAgentThatStartsWithASilentRuntime(t *testing.T) {
	f := &fakeNode{}
	run(t, f, nil, func() { time.Sleep(time.Minute) })
	check(t, f, "10s  RuntimeUnreachable")

	var before *v1alpha1.NodeRuntime
	synctest.Test(t, func(t *testing.T) {
		report, err := FromStatus(&Observation{Loaded: loadedWith("kata", "runc"), NextUnknown: "because", At: time.Now()}, "n")
		if err != nil {
			t.Fatal(err)
		}
		before = report
	})
	f = &fakeNode{}
	run(t, f, func(a *Agent) { a.Published = before }, func() { time.Sleep(time.Minute) })
	check(t, f, "10s kata, runc RuntimeUnreachable, NextUnknown")
}

func TestAgentTakesOverWhatIsPublished(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("runc")}
	run(t, f, nil, func() { time.Sleep(time.Second) })
	f.written = nil
	run(t, f, func(a *Agent) { a.Published = f.last }, func() { time.Sleep(time.Minute) })
	check(t, f)
}

func TestAgentFollowsHints(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("runc")}
	var hints chan struct{}
	run(t, f, func(a *Agent) {
		hints = make(chan struct{}, 1) // of the bubble
		a.Hints = hints
	}, func() {
		time.Sleep(5 * time.Second)
		hints <- struct{}{}
		time.Sleep(settle / 2)
		f.loaded = loadedWith("kata", "runc") // while it settles
		time.Sleep(time.Second)
	})
	check(t, f, "0s runc", "6s kata, runc")
}
