package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A shownStep is a command of a console block, and what is shown of its output.
type shownStep struct {
	file, command, output string
	// exit is the exit code that is shown, "" for none.
	exit string
}

// TestDocsShowWhatIsPrinted: what the pages show of runtimegate alone is what that
// prints in a clone, and what README.md shows of a cluster is recorded in a session of
// e2e, which the end-to-end tests play. A line of three dots stands for others.
func TestDocsShowWhatIsPrinted(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "nowhere"))
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "README.md", "docs/examples/README.md")
	sessions := recorded(t)
	shown := map[string]int{}
	for _, page := range pages {
		for _, step := range shownSteps(t, page) {
			args, isOurs := strings.CutPrefix(step.command, "runtimegate ")
			switch {
			case isOurs && step.output != "":
				shown[page]++
				checkShown(t, step, strings.Fields(args))
			case isOurs:
				args, _, _ = strings.Cut(args, " > ")
				checkExample(t, page+": "+step.command, strings.Fields(args))
			case page == "README.md" && step.output != "":
				shown[page]++
				if !strings.Contains(sessions, "\n$ "+step.command+"\n"+step.output+"\n") {
					t.Errorf("no session has\n$ %s\n%s", step.command, step.output)
				}
			}
		}
	}
	for _, page := range []string{"README.md", "docs/explain.md", "docs/lint.md", "docs/migrate.md", "docs/status.md", "docs/why.md"} {
		if shown[page] == 0 {
			t.Errorf("%s shows nothing", page)
		}
	}
}

// shownSteps are those of a page.
func shownSteps(t *testing.T, page string) (steps []shownStep) {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(content), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, output, _ := strings.Cut(strings.TrimSuffix(step, "\n"), "\n")
			if command == "echo $?" {
				steps[len(steps)-1].exit = output
				continue
			}
			steps = append(steps, shownStep{file: page, command: command, output: output})
		}
	}
	return steps
}

// checkShown runs a step.
func checkShown(t *testing.T, step shownStep, args []string) {
	t.Helper()
	stdout, stderr, err := runCommand(t, args...)
	got := strings.TrimSuffix(stderr+stdout, "\n")
	want := strings.ReplaceAll(regexp.QuoteMeta(step.output+"\n"), `\.\.\.`+"\n", "(?s:.*)")
	if ok, err := regexp.MatchString("^(?:"+want+")$", got+"\n"); err != nil || !ok {
		t.Errorf("%s: $ %s\ngot\n%s\nshown is\n%s", step.file, step.command, got, step.output)
	}
	if code, _ := exitCode(err); step.exit != "" && step.exit != fmt.Sprint(code) {
		t.Errorf("%s: $ %s: exit code %d, shown is %s", step.file, step.command, code, step.exit)
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
