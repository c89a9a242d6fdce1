package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config"
)

// imports prints the files in the order in which they are loaded, each import
// below the file that has it.
func (p *printer) imports(v *explanation) {
	p.heading("FILES, in load order; a later one goes over an earlier one")
	order := map[string]int{}
	byPath := map[string]*config.File{}
	for i, f := range v.Imports {
		order[f.Path], byPath[f.Path] = i+1, f
	}
	if len(v.Imports) == 0 {
		p.line("  none: built-in defaults")
	}
	told := map[string]bool{}
	for _, f := range v.Imports {
		// CRI-O reads a folder: there no file imports another.
		if !told[f.Path] {
			p.file(f, order, byPath, told, 1)
		}
	}
}

// maxIndent keeps a chain of imports on the screen.
const maxIndent = 20

func (p *printer) file(f *config.File, order map[string]int, byPath map[string]*config.File, told map[string]bool, depth int) {
	indent := strings.Repeat("  ", min(depth, maxIndent))
	told[f.Path] = true
	p.line("%s%d. %s%s", indent, order[f.Path], printable(f.Path), aboutFile(f))
	if f.Error != "" {
		p.line("%s   %s %s", indent, p.paint(red, "the load ends here:"), printable(f.Error))
	}
	for _, i := range f.Imports {
		p.line("%s   imports %q%s", indent, i.Pattern, importNote(f, i))
		for _, name := range i.Matched {
			switch next := byPath[name]; {
			case next == nil:
				p.line("%s     %s  (not read)", indent, printable(name))
			case told[name]:
				p.line("%s     %d. %s  (see there)", indent, order[name], printable(name))
			default:
				p.file(next, order, byPath, told, depth+2)
			}
		}
		for _, name := range i.Passed {
			p.line("%s     %s", indent, p.paint(faint, "-  "+printable(name)+"  (not matched: not read)"))
		}
	}
}

func aboutFile(f *config.File) string {
	var about []string
	if f.Version != 0 {
		about = append(about, fmt.Sprintf("version %d", f.Version))
	}
	if !f.TouchesCRI {
		about = append(about, "nothing of the CRI")
	}
	if len(about) == 0 {
		return ""
	}
	return "  (" + strings.Join(about, ", ") + ")"
}

func importNote(f *config.File, i config.Import) string {
	note := ""
	if i.Line > 0 {
		note = fmt.Sprintf(" at line %d", i.Line)
	}
	if i.Path != i.Pattern {
		note += ", which is " + i.Path
	}
	if len(i.Matched) == 0 {
		note += ": matches nothing"
	}
	return printable(note)
}

// handlers prints every handler with its fate, where it comes from, and the
// programs behind it.
func (p *printer) handlers(v *explanation) {
	if len(v.Handlers) == 0 {
		p.heading("HANDLERS: none")
		return
	}
	p.heading("HANDLERS")
	rows := [][]cell{{{text: "NAME"}, {text: "FATE"}, {text: "FROM"}, {text: "STARTS"}}}
	for _, h := range v.Handlers {
		name := h.Name
		if h.Default {
			name += " (default)"
		}
		fate := cell{text: h.Fate, colour: fateColour(h.Fate)}
		from := originsOf(h)
		starts := startsOf(h)
		for i := range max(len(from), len(starts)) {
			row := []cell{{}, {}, {}, {}}
			if i == 0 {
				row[0], row[1] = cell{text: printable(name)}, fate
			}
			if i < len(from) {
				row[2].text = printable(from[i])
			}
			if i < len(starts) {
				row[3] = starts[i]
			}
			rows = append(rows, row)
		}
	}
	p.table("  ", rows)
	p.fates(v)
}

// originsOf names the places that define a handler, with the fate of those
// that do not count.
func originsOf(h *explainedHandler) []string {
	var from []string
	counts := false
	for _, o := range h.Origins {
		text := place(o.File, o.Line)
		if o.Fate == config.Loaded || o.Fate == config.Merged {
			counts = true
		} else if string(o.Fate) != h.Fate {
			text += " (" + string(o.Fate) + ")"
		}
		from = append(from, text)
	}
	if !counts && fateColour(h.Fate) == green {
		from = append([]string{"built in"}, from...)
	}
	return from
}

// fates tells why places do not count, those with the same reason together.
func (p *printer) fates(v *explanation) {
	var reasons []string
	by := map[string][]string{}
	for _, h := range v.Handlers {
		for _, o := range h.Origins {
			if o.Why == "" {
				continue
			}
			reason := fmt.Sprintf("%s: %s", o.Fate, o.Why)
			if by[reason] == nil {
				reasons = append(reasons, reason)
			}
			if !slices.Contains(by[reason], h.Name) {
				by[reason] = append(by[reason], h.Name)
			}
		}
	}
	for _, reason := range reasons {
		p.line("  %s: %s", printable(strings.Join(by[reason], ", ")), printable(reason))
	}
}

func fateColour(fate string) string {
	switch fate {
	case "Loaded", "Merged":
		return green
	}
	return red
}

// startsOf names the programs, and what is wrong with them.
func startsOf(h *explainedHandler) []cell {
	var out []cell
	for _, program := range []*config.Program{h.Shim, h.Binary} {
		if program == nil || program.Path == "" {
			continue
		}
		c := cell{text: printable(program.Path)}
		switch program.State {
		case config.NotFound:
			c.text, c.colour = c.text+" (not found)", red
		case config.NotExecutable:
			c.text, c.colour = c.text+" (not executable)", red
		}
		out = append(out, c)
	}
	return out
}
