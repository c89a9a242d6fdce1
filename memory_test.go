package main

import (
	"runtime"
	"testing"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]struct{ atStart, ready int }{
		0: {400, 400}, 4 << 20: {400, 400}, 10 << 20: {220, 220}, 20 << 20: {100, 100}, 64 << 20: {100, 100}, 128 << 20: {100, 50}, 400 << 20: {100, 25}, 500 << 20: {60, 25}, 1 << 30: {25, 25},
	} {
		if got := gcPercent(live, false); got != want.atStart {
			t.Errorf("%d MiB in use at the start: got %d, want %d", live>>20, got, want.atStart)
		}
		if got := gcPercent(live, true); got != want.ready {
			t.Errorf("%d MiB in use: got %d, want %d", live>>20, got, want.ready)
		}
	}
	if runtime.GC(); liveHeap() == 0 {
		t.Error("no memory is in use")
	}
}
