package main

import (
	"runtime"
	"testing"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 100, 10 << 20: 100, 64 << 20: 100, 128 << 20: 50, 1 << 30: 25} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d MiB in use: got %d, want %d", live>>20, got, want)
		}
	}
	if runtime.GC(); liveHeap() == 0 {
		t.Error("no memory is in use")
	}
}
