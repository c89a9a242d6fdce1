package cri

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestProcessOf(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	server, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	// environ is what the process was started with.
	if got, want := ProcessOf(socket, "/"), (Process{SearchPath: os.Getenv("PATH"), WorkDir: wd}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for name, got := range map[string]Process{
		"of another root":   ProcessOf(socket, t.TempDir()),
		"of no socket":      ProcessOf(socket+"x", "/"),
		"of a root amiss":   ProcessOf(socket, "/nonexistent"),
		"of what is a file": ProcessOf("/etc/passwd", "/"),
	} {
		if got != (Process{}) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
