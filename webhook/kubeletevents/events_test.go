package kubeletevents

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEvents reads each event of testdata: its reason, its message, and below
// "--" what it means. UPDATE=1 writes the meanings anew; to add an event, add a
// file.
func TestEvents(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no events: %v", err)
	}
	used := map[Cause]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			event, _, _ := bytes.Cut(content, []byte("--\n"))
			reason, message, _ := strings.Cut(string(event), "\n")
			var got strings.Builder
			got.Write(event)
			got.WriteString("--\n")
			if m := Of(reason, strings.TrimSpace(message), "unix:///run/custom/cri.sock"); m != nil {
				used[m.Cause] = true
				fmt.Fprintf(&got, "%s (%s)\n", m.Cause, m.By)
				for _, field := range [][2]string{{"handler", m.Handler}, {"class", m.Class}, {"program", m.Program}, {"socket", m.Socket}} {
					if field[1] != "" {
						fmt.Fprintf(&got, "%s: %s\n", field[0], field[1])
					}
				}
				fmt.Fprintln(&got, m)
			} else {
				got.WriteString("says nothing\n")
			}
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got.String() != string(content) && os.Getenv("UPDATE") == "" {
				t.Errorf("got:\n%s", got.String())
			}
		})
	}
	for _, w := range wordings {
		if !used[w.cause] {
			t.Errorf("no event of testdata means %s", w.cause)
		}
	}
}
