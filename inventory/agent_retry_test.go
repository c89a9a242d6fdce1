package inventory

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// attempts makes an agent note when it tries to write, and when it looks.
func attempts(f *fakeNode, a *Agent) (writes, looks *[]time.Duration) {
	writes, looks = &[]time.Duration{}, &[]time.Duration{}
	publish, observe := a.Publish, a.Observe
	a.Publish = func(ctx context.Context, r *v1alpha1.NodeRuntime) error {
		*writes = append(*writes, time.Since(f.started))
		return publish(ctx, r)
	}
	a.Observe = func(ctx context.Context) (*Observation, error) {
		*looks = append(*looks, time.Since(f.started))
		return observe(ctx)
	}
	return writes, looks
}

// TestAgentTriesAgain: while the API server is away the pauses grow up to a
// minute, the looks go on, and at last what the node has then is written once.
func TestAgentTriesAgain(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("runc"), refused: true}
	var writes, looks *[]time.Duration
	run(t, f, func(a *Agent) { writes, looks = attempts(f, a) }, func() {
		time.Sleep(30 * time.Minute)
		f.loaded = loadedWith("nvidia", "runc")
		time.Sleep(30 * time.Minute)
		f.refused = false
		time.Sleep(time.Minute + time.Second)
	})
	for i, least := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
		least *= time.Second
		if pause := (*writes)[i+1] - (*writes)[i]; pause < least || pause > 2*least {
			t.Errorf("pause %d is %s, want %s to %s", i+1, pause, least, 2*least)
		}
	}
	if n := len(*writes); n < 60 || n > 130 {
		t.Errorf("%d attempts in an hour", n)
	}
	if n := len(*looks); n != 245 {
		t.Errorf("%d looks in 61 minutes, want one every 15 seconds", n)
	}
	if len(f.written) != 1 || !strings.HasSuffix(f.written[0], " nvidia, runc") {
		t.Errorf("written %q", f.written)
	}
}

// TestAgentPausesAgain: a write that succeeds makes the next pause a short one.
func TestAgentPausesAgain(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("runc"), refused: true}
	var writes *[]time.Duration
	run(t, f, func(a *Agent) { writes, _ = attempts(f, a) }, func() {
		time.Sleep(10 * time.Minute)
		f.refused = false
		time.Sleep(time.Minute)
		f.refused, f.loaded, *writes = true, loadedWith("nvidia", "runc"), nil
		time.Sleep(30 * time.Second)
	})
	if pause := (*writes)[1] - (*writes)[0]; pause > 2*time.Second {
		t.Errorf("the first pause is %s", pause)
	}
}

// TestAgentForgetsWhatIsUndone: what the node no longer has is not written, but
// what it has then is: a write without an answer may have been done.
func TestAgentForgetsWhatIsUndone(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("runc")}
	run(t, f, nil, func() {
		time.Sleep(time.Second)
		f.refused, f.loaded = true, loadedWith("nvidia", "runc")
		time.Sleep(time.Minute)
		f.loaded = loadedWith("runc")
		time.Sleep(15 * time.Second)
		f.refused = false
		time.Sleep(2 * time.Minute)
	})
	if n := len(f.written); n != 2 || f.written[0] != "0s runc" || !strings.HasSuffix(f.written[1], "s runc HandlerLost") {
		t.Errorf("written %q", f.written)
	}
}

// TestAgentKeepsWhatItCouldNotWrite: a list that was not written is kept when the
// runtime falls silent.
func TestAgentKeepsWhatItCouldNotWrite(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("nvidia", "runc")}
	run(t, f, nil, func() {
		time.Sleep(time.Second)
		f.refused, f.loaded = true, loadedWith("kata", "nvidia", "runc")
		time.Sleep(time.Minute)
		f.loaded = nil
		time.Sleep(time.Minute)
		f.refused = false
		time.Sleep(2 * time.Minute)
	})
	if last := f.written[len(f.written)-1]; !strings.HasSuffix(last, " kata, nvidia, runc RuntimeUnreachable") {
		t.Errorf("written %q", f.written)
	}
}

// TestAgentRenewsAReportFromTheFuture: a clock that was put right must not keep
// the report from being renewed.
func TestAgentRenewsAReportFromTheFuture(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("runc")}
	run(t, f, nil, func() { time.Sleep(time.Second) })
	f.last.Spec.RenewedAt.Time = f.last.Spec.RenewedAt.Add(8 * time.Hour)
	f.written = nil
	run(t, f, func(a *Agent) { a.Published = f.last }, func() { time.Sleep(10 * time.Minute) })
	if len(f.written) == 0 {
		t.Error("nothing is written within 10 minutes")
	}
}

// TestAgentsFallOutOfStep: of nodes that are started together not even the
// looks stay together.
func TestAgentsFallOutOfStep(t *testing.T) {
	f := &fakeNode{loaded: loadedWith("runc")}
	var looks *[]time.Duration
	run(t, f, func(a *Agent) {
		a.random = rand.Float64
		_, looks = attempts(f, a)
	}, func() { time.Sleep(10 * time.Minute) })
	var between []time.Duration
	for i, at := range (*looks)[1:] {
		between = append(between, at-(*looks)[i])
	}
	slices.Sort(between)
	if first, last := between[0], between[len(between)-1]; first < 12*time.Second || last > 18*time.Second || first == last {
		t.Errorf("from %s to %s between two looks", first, last)
	}
}
