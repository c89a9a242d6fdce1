// Package session reads, compares and writes recorded shell sessions: commands
// and what they are to print, in one file that reads like a terminal.
//
//	## A heading
//	#
//	# Text, which explains the command below it.
//	$ kubectl get pod probe
//	Error from server (NotFound): pods "probe" not found
//	[exit 1]
//
// stdout and stderr are mixed as on a terminal; "[exit N]" ends the output of a
// command that fails. In expected output "…" stands for any text of a line.
// A command after "% " instead of "$ " only waits for something: it is not part
// of what a reader is shown.
package session

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A Session is a file of steps.
type Session struct {
	Path  string
	Steps []Step
}

// A Step is one command and what it is to print.
type Step struct {
	Text    []string // the comment above without its mark; headings start with "# "
	Command string
	Hidden  bool // not for a reader
	Want    []string
}

// Read reads a session.
func Read(path string) (*Session, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s := &Session{Path: path}
	var text []string
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "$ "), strings.HasPrefix(line, "% "):
			s.Steps = append(s.Steps, Step{Text: text, Command: line[2:], Hidden: line[0] == '%'})
			text = nil
		case strings.HasPrefix(line, "#"):
			text = append(text, strings.TrimSpace(strings.TrimPrefix(line, "#")))
		case len(s.Steps) > 0 && text == nil:
			last := &s.Steps[len(s.Steps)-1]
			last.Want = append(last.Want, line)
		case strings.TrimSpace(line) != "":
			return nil, fmt.Errorf("%s:%d: output without a command above it", path, n)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(s.Steps) == 0 {
		return nil, fmt.Errorf("%s: no command in it", path)
	}
	for i := range s.Steps {
		s.Steps[i].Want = trim(s.Steps[i].Want)
	}
	return s, nil
}

// Lines is what a session shows of a command that printed output and ended
// with a code.
func Lines(output string, exit int) []string {
	lines := strings.Split(output, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	lines = trim(lines)
	if exit != 0 {
		lines = append(lines, fmt.Sprintf("[exit %d]", exit))
	}
	return lines
}

// Matches says whether the step printed what it is to print.
func (s Step) Matches(got []string) bool {
	if len(got) != len(s.Want) {
		return false
	}
	for i, want := range s.Want {
		if !matchLine(want, got[i]) {
			return false
		}
	}
	return true
}

func matchLine(want, got string) bool {
	if !strings.Contains(want, "…") {
		return want == got
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

// Mismatch tells a person what a step printed instead of what it is to print.
func (s Step) Mismatch(got []string) string {
	return fmt.Sprintf("$ %s\nwant:\n%s\ngot:\n%s", s.Command, indent(s.Want), indent(got))
}

// Update takes output as what the step is to print from now on. Lines with "…"
// in them that still match stay.
func (s *Step) Update(got []string) {
	updated := append([]string(nil), got...)
	for i := range updated {
		if i < len(s.Want) && matchLine(s.Want[i], got[i]) {
			updated[i] = s.Want[i]
		}
	}
	s.Want = updated
}

// Write writes the session back to its file.
func (s *Session) Write() error {
	var b strings.Builder
	for i, step := range s.Steps {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, line := range step.Text {
			fmt.Fprintln(&b, comment(line))
		}
		mark := "$ "
		if step.Hidden {
			mark = "% "
		}
		fmt.Fprintln(&b, mark+step.Command)
		for _, line := range step.Want {
			fmt.Fprintln(&b, line)
		}
	}
	return os.WriteFile(s.Path, []byte(b.String()), 0o644)
}

// comment is a line of text with its mark; a heading has two.
func comment(text string) string {
	if strings.HasPrefix(text, "#") {
		return "#" + text
	}
	return strings.TrimSpace("# " + text)
}

// trim cuts the empty lines off the end.
func trim(lines []string) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func indent(lines []string) string {
	return "  " + strings.Join(lines, "\n  ")
}
