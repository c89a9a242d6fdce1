package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// garbage is how much of it a serve that knows many nodes may have beside what it
// uses, so that it does not take twice the memory.
const garbage = 64 << 20

// smallHeap is up to where to collect garbage saves no memory that anybody misses.
const smallHeap = 32 << 20

// heapAtStart is up to where its memory may grow to twice what is in use until it
// is ready: to collect more often takes time of which a start with 100,000 nodes has
// none to spare.
const heapAtStart = 800 << 20

// settled is how many seconds after it is ready nothing holds on to the pages that it
// has read any more.
const settled = 3

// keepLean has Go's collector run more often the more memory is in use, until the
// context is done: from the default, or less where that is little, to a quarter as
// much garbage as there is memory in use. What the start has left goes back to the
// system at once.
func keepLean(ctx context.Context, ready func() bool) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for since := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if ready() {
			since++
		}
		if since == 1 || since == settled {
			debug.FreeOSMemory()
		}
		if since == settled {
			tick.Reset(time.Minute)
		}
		debug.SetGCPercent(gcPercent(liveHeap(), since >= settled))
	}
}

// gcPercent is what to set GOGC to when that many bytes are in use.
func gcPercent(live uint64, ready bool) int {
	allowed := uint64(garbage)
	if !ready {
		allowed = max(allowed, heapAtStart-min(heapAtStart, live))
	}
	allowed = min(allowed, max(live, smallHeap-min(smallHeap, live)))
	return int(min(400, max(25, 100*allowed/max(1, live))))
}

// liveHeap is what the last collection has found in use.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
