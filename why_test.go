package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestWhy answers what each file of testdata/why asks, and compares with what it
// wants. A file has the arguments, a snapshot, a manifest if there is one, and the
// answer; UPDATE=1 writes that anew. To add a case, add a file.
func TestWhy(t *testing.T) {
	files, err := filepath.Glob("testdata/why/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var all strings.Builder
	for _, file := range files {
		file, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runWhy(t, archive)
			all.WriteString(got)
			want := &archive.Files[len(archive.Files)-1]
			if os.Getenv("UPDATE") != "" {
				want.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want.Name != "want" || got != string(want.Data) {
				t.Errorf("not as in %s (UPDATE=1 writes it anew); got:\n%s", file, got)
			}
			if why := outOfOrder(got); why != "" {
				t.Errorf("%s\n%s", why, got)
			}
		})
	}
	for _, condition := range []string{"Missing", "Partial", "Unknown", "Broken", "Expiring", "Forbidden", "Oversized", "FeatureMissing", "Rejected"} {
		if !regexp.MustCompile(`(?m)^  (Deny|Warn) ` + condition + `: `).MatchString(all.String()) {
			t.Errorf("no file of testdata/why has the condition %s", condition)
		}
	}
}

// runWhy returns the exit code and the output of the case.
func runWhy(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	var args []string
	for _, f := range archive.Files {
		switch f.Name {
		case "args":
			args = strings.Fields(string(f.Data))
		case "want":
		default:
			if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Chdir(dir)
	args = append([]string{"why"}, append(args, "--snapshot", "cluster.yaml", "--now", "2026-01-02T00:05:00Z")...)
	stdout, stderr, err := runCommand(t, args...)
	code := 0
	var exit *exitError
	if errors.As(err, &exit) {
		code = exit.code
	} else if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s%sexit code %d\n", stderr, stdout, code)
}

// outOfOrder says if a runtime is restarted before anything is mended or looked at.
func outOfOrder(text string) string {
	_, steps, _ := strings.Cut(text, "IN THIS ORDER")
	restart := strings.Index(steps, "restart containerd, on one node first")
	for _, before := range []string{"Restart nothing", "Mend /", "Bring ", "Drain ", "See what the running", "Wait until the next start"} {
		if at := strings.LastIndex(steps, before); restart >= 0 && at > restart {
			return fmt.Sprintf("%q comes after the restart", before)
		}
	}
	return ""
}
