package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// A page is where the story is printed, in colour when that is a terminal.
type page struct {
	out    *os.File
	colour bool
}

func newPage(out *os.File) page {
	return page{out: out, colour: term.IsTerminal(int(out.Fd())) && os.Getenv("NO_COLOR") == ""}
}

// Select Graphic Rendition codes.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (p page) line(colour, text string) {
	if p.colour && colour != "" {
		text = "\x1b[" + colour + "m" + text + "\x1b[0m"
	}
	fmt.Fprintln(p.out, text)
}

// note is the demo's own word.
func (p page) note(text string) {
	p.line("", "")
	for line := range strings.Lines(text) {
		p.line(green, strings.TrimSuffix(line, "\n"))
	}
}

// text is the comment above a command; a line that starts with a mark is a
// heading.
func (p page) text(lines []string) {
	p.line("", "")
	for _, line := range lines {
		heading, isHeading := strings.CutPrefix(line, "# ")
		if !isHeading {
			p.line("", line)
			continue
		}
		p.line("", "")
		p.line(bold, heading)
		p.line(bold, strings.Repeat("─", len(heading)))
	}
}

func (p page) command(command string) {
	p.line(cyan, "$ "+command)
}

func (p page) output(lines []string) {
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "Warning: "):
			p.line(yellow, line)
		case strings.HasPrefix(line, "Error"):
			p.line(red, line)
		default:
			p.line("", line)
		}
	}
}
