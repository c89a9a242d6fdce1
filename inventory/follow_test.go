package inventory

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Many ask while one tells of changes, with Feed's snapshots and without. No answer
// may be of half a change, and the last ones are those of walking.
func TestIndexIsAskedDuringChanges(t *testing.T) {
	for name, followed := range map[string]bool{"followed": true, "not followed": false} {
		t.Run(name, func(t *testing.T) {
			g := newGenerator(rand.New(rand.NewPCG(*seed, 0)), map[string]int{})
			// What follows makes snapshots of the real time.
			g.now, g.size = time.Now().Truncate(time.Second), 24
			b := &both{fast: NewIndex(DefaultOptions), slow: newWalkingIndex(DefaultOptions)}
			b.fast.limits, b.fast.findNamingAt = namingLimits{3, 2}, 3
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if followed {
				go b.fast.follow(ctx)
			}
			var askers sync.WaitGroup
			var stop atomic.Bool
			for i := range 4 {
				askers.Go(func() {
					own := newGenerator(rand.New(rand.NewPCG(*seed, uint64(i+1))), map[string]int{})
					own.size = g.size
					for !stop.Load() {
						c := b.fast.Coverage(PlacementOf(own.pod()), "kata", UserNamespaces, time.Now())
						for _, n := range []Nodes{c.Has, c.Lacks, c.Silent, c.Elsewhere, c.Tainted, c.TooSmall} {
							if len(n.Sample) != min(n.Count, SampleSize) {
								t.Errorf("%d nodes, named: %v", n.Count, n.Sample)
								return
							}
						}
						b.fast.Summary([]string{"kata", ""}, time.Now())
						b.fast.Loaded(time.Now())
					}
				})
			}
			for range 3000 {
				b.change(g)
			}
			stop.Store(true)
			askers.Wait()
			cancel()
			for b.fast.followed.Load() { // it ends with its pause
				time.Sleep(time.Millisecond)
			}
			for range 500 {
				if difference := b.difference(g); difference != "" {
					t.Fatal(difference)
				}
			}
		})
	}
}

// Who finds no change pending finds a snapshot that has all of them, at any moment of its
// making.
func TestNothingIsPendingThatIsNotThere(t *testing.T) {
	x := NewIndex(DefaultOptions)
	var before atomic.Pointer[snapshot] // a change that is not in it has been made
	var stop atomic.Bool
	missed := 0
	var asker sync.WaitGroup
	asker.Go(func() {
		for !stop.Load() {
			if old := before.Load(); old != nil && x.pending.Load() == 0 && x.current.Load() == old {
				missed++
			}
		}
	})
	for i := range 50_000 {
		if i%2 == 0 {
			x.SetNode(oldNode("n", lists("kata")))
		} else {
			x.DeleteNode("n")
		}
		before.Store(x.current.Load())
		x.renew(now)
		before.Store(nil)
	}
	stop.Store(true)
	asker.Wait()
	if missed > 0 {
		t.Errorf("%d times a change was neither pending nor there", missed)
	}
}

// While Feed makes the snapshots, a change is in one soon, and so is what changes
// by itself. The time is the bubble's: a busy machine makes none of it pass.
func TestFollowedIndexIsNotFarBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := NewIndex(Options{StaleAfter: 2 * time.Second, NodeSettle: 0})
		go x.follow(t.Context())
		synctest.Wait() // it follows
		has := func() bool {
			return x.Coverage(ClassPlacement(nil, nil, false), "kata", 0, time.Now()).Has.Count == 1
		}
		between := func(what string, least, most time.Duration, is func() bool) {
			t.Helper()
			start := time.Now()
			for !is() && time.Since(start) <= most {
				time.Sleep(time.Millisecond)
			}
			if took := time.Since(start); took < least || took > most {
				t.Fatalf("%s: after %s, want %s to %s", what, took, least, most)
			}
		}
		x.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		x.SetReport(report("n", metav1.Now(), "kata"))
		between("a report", 0, 2*pause, has)
		between("its age", 2*time.Second-2*pause, 2*time.Second+pause, func() bool { return !has() })
		x.SetReport(report("n", metav1.Now(), "kata"))
		between("another one", 0, 2*pause, has)
		x.DeleteNode("n")
		between("its end", 0, 2*pause, func() bool { return !has() })
	})
}

// Should whoever makes the snapshots be held up, questions do it when they would be
// too far behind.
func TestQuestionsDoNotRelyOnFeed(t *testing.T) {
	x := NewIndex(DefaultOptions)
	x.followed.Store(true) // and nobody follows
	x.SetNode(oldNode("n", lists("kata")))
	ask := func(at time.Time) int {
		return x.Coverage(ClassPlacement(nil, nil, false), "kata", 0, at).Has.Count
	}
	if got := ask(now); got != 0 {
		t.Errorf("%d nodes before there is a snapshot, want 0", got)
	}
	x.made = x.made.Add(-maxLag)
	if got := ask(now); got != 1 {
		t.Errorf("%d nodes later, want 1", got)
	}
	x.SetNode(oldNode("new", created(metav1.NewTime(now))))
	x.renew(now)
	young := func(at time.Time) int {
		return x.Coverage(ClassPlacement(nil, nil, false), "kata", 0, at).Young.Count
	}
	settled := now.Add(DefaultOptions.NodeSettle)
	if got := young(settled); got != 1 {
		t.Errorf("%d young nodes at the end of it, want 1: the snapshot may be a little behind", got)
	}
	if got := young(settled.Add(maxLag)); got != 0 {
		t.Errorf("%d young nodes later, want 0", got)
	}
	if got := young(settled.Add(-time.Minute)); got != 1 {
		t.Errorf("%d young nodes when the clock has been put back, want 1", got)
	}
}

// A heartbeat changes nothing but until when the groups are right.
func TestHeartbeatLeavesTheGroups(t *testing.T) {
	x := NewIndex(DefaultOptions)
	x.SetNode(oldNode("n"))
	x.SetReport(report("n", ago(time.Minute), "kata"))
	before := x.at(now)
	x.SetReport(report("n", ago(0), "kata"))
	after := x.at(now)
	if &before.kinds[0] != &after.kinds[0] {
		t.Error("the kinds were made anew")
	}
	if got := x.Coverage(ClassPlacement(nil, nil, false), "kata", 0, now.Add(15*time.Minute)); got.Has.Count != 1 {
		t.Errorf("15 minutes after the heartbeat: %s", cmp.Diff(Coverage{}, got))
	}
	if got := x.Coverage(ClassPlacement(nil, nil, false), "kata", 0, now.Add(15*time.Minute+1)); got.Stale.Count != 1 {
		t.Errorf("and a moment later: %s", cmp.Diff(Coverage{}, got))
	}
}
