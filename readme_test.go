package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeShowsWhatIsPrinted: what README.md shows of a cluster is recorded in a
// session of e2e, which the end-to-end tests play, and what it shows of
// runtimegate alone is what that prints.
func TestReadmeShowsWhatIsPrinted(t *testing.T) {
	content, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	sessions := recorded(t)
	shown := 0
	for _, block := range strings.Split(string(content), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		steps := strings.Split("\n"+block, "\n$ ")[1:]
		for i, step := range steps {
			command, output, _ := strings.Cut(strings.TrimSuffix(step, "\n"), "\n")
			if output == "" || command == "echo $?" {
				continue
			}
			shown++
			args, isOurs := strings.CutPrefix(command, "runtimegate ")
			if !isOurs {
				if !strings.Contains(sessions, "\n$ "+command+"\n"+output+"\n") {
					t.Errorf("no session has\n$ %s\n%s", command, output)
				}
				continue
			}
			stdout, stderr, err := runCommand(t, strings.Fields(args)...)
			if got := strings.TrimSuffix(stderr+stdout, "\n"); got != output {
				t.Errorf("$ %s\ngot\n%s\nshown is\n%s", command, got, output)
			}
			if i+1 < len(steps) && strings.HasPrefix(steps[i+1], "echo $?\n") {
				code, _ := exitCode(err)
				if strings.TrimSpace(steps[i+1]) != fmt.Sprintf("echo $?\n%d", code) {
					t.Errorf("$ %s: exit code %d, shown is %q", command, code, steps[i+1])
				}
			}
		}
	}
	if shown < 2 {
		t.Errorf("only %d outputs are shown", shown)
	}
}

// recorded are all sessions of e2e.
func recorded(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("e2e", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "session" && !strings.HasSuffix(d.Name(), ".session") {
			return err
		}
		content, err := os.ReadFile(path)
		all.WriteString("\n" + string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
