package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestProgramReleaser: the program's own pages leave the memory, and it goes on.
func TestProgramReleaser(t *testing.T) {
	release := programReleaser()
	before := programMemory(t)
	release()
	if after := programMemory(t); after > before/2 {
		t.Errorf("%d kB of the program in memory, %d kB before", after, before)
	}
}

// programMemory is how much of this program's file is in its memory, in kB.
func programMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	size, err := strconv.Atoi(string(regexp.MustCompile(`(?m)^RssFile:\s+(\d+) kB$`).FindSubmatch(status)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return size
}
