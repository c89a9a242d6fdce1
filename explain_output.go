package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"
	"golang.org/x/term"
)

// writeExplanations prints them in the form asked for: one object for one
// version, a list for several.
func writeExplanations(w io.Writer, form string, views []*explanation) error {
	if form == "table" {
		p := &printer{colour: wantsColour(w)}
		p.explanations(views)
		_, err := w.Write(p.Bytes())
		return err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	var value any = views
	if len(views) == 1 {
		value = views[0]
	}
	if err := encoder.Encode(value); err != nil {
		return err
	}
	data := out.Bytes()
	if form == "yaml" {
		var err error
		if data, err = yamlOf(data); err != nil {
			return err
		}
	}
	_, err := w.Write(data)
	return err
}

// yamlOf turns JSON into block YAML with its keys in the same order.
func yamlOf(data []byte) ([]byte, error) {
	n, err := (&jsonReader{decoder: json.NewDecoder(bytes.NewReader(data)), data: data, line: 1}).value(0)
	if err != nil {
		return nil, err
	}
	untag(n)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// untag lets YAML find the tags of numbers and booleans by itself; all else
// keeps its own, so that a string stays one.
func untag(n *yaml.Node) {
	if n.Tag == "!!float" {
		n.Tag = ""
	}
	for _, c := range n.Content {
		untag(c)
	}
}

// wantsColour tells whether w is a terminal of someone who has not said no
// (https://no-color.org).
func wantsColour(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// isTerminal tells whether w is a terminal that obeys more than line breaks.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// The colours, as ANSI sequences.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	faint  = "2"
)

// A printer writes text for people.
type printer struct {
	bytes.Buffer
	colour bool
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// paint colours text. What is to be aligned is aligned before.
func (p *printer) paint(colour, text string) string {
	if !p.colour || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (p *printer) heading(format string, args ...any) {
	p.line("\n%s", p.paint(bold, fmt.Sprintf(format, args...)))
}

// A cell is one field of a table, in a colour or "".
type cell struct{ text, colour string }

// table prints rows in columns two spaces apart, each line after indent.
func (p *printer) table(indent string, rows [][]cell) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	for _, row := range rows {
		line := indent
		for i, c := range row {
			pad := ""
			if i < len(row)-1 {
				pad = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2)
			}
			text := c.text
			if c.colour != "" {
				text = p.paint(c.colour, text)
			}
			line += text + pad
		}
		p.line("%s", strings.TrimRight(line, " "))
	}
}

// printable keeps control characters of file names and messages away from the
// terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}
