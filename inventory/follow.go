package inventory

import (
	"context"
	"time"
)

const (
	// maxLag is how much older than a change, or a deadline, an answer may be.
	maxLag = time.Second
	// pause is the time between two snapshots, so that a storm of changes makes few
	// of them; but they never take more than a tenth of the time.
	pause = 50 * time.Millisecond
)

// at returns a snapshot that is right at the time now. While Feed makes the
// snapshots, one that was right within maxLag does: the question does not wait for
// the next one. That also holds when Feed has been held up, or the clock has been
// set: then the question makes a snapshot itself.
func (x *Index) at(now time.Time) *snapshot {
	pending := x.pending.Load()
	s := x.current.Load()
	if pending == 0 && s.holds(now) {
		return s
	}
	if x.followed.Load() && (pending == 0 || time.Since(x.made)-time.Duration(pending) < maxLag) && s.heldNearly(now) {
		return s
	}
	return x.renew(now)
}

// heldNearly says whether a snapshot is right at a time or was within maxLag.
func (s *snapshot) heldNearly(at time.Time) bool {
	return !at.Add(maxLag).Before(s.from) && (s.until.IsZero() || at.Add(-maxLag).Before(s.until))
}

// follow makes snapshots until the context is done: after changes, and when the
// state of a node changes by itself.
func (x *Index) follow(ctx context.Context) {
	x.followed.Store(true)
	defer x.followed.Store(false)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
		case <-timer.C:
		}
		before := time.Now()
		s := x.renew(before)
		took := time.Since(before)
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(pause, 9*took)):
		}
		next := time.Hour
		if !s.until.IsZero() {
			next = max(0, time.Until(s.until))
		}
		timer.Reset(next)
	}
}
