package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config"
)

func (p *printer) explanations(views []*explanation) {
	for i, v := range views {
		if i > 0 {
			p.line("")
		}
		p.explanation(v)
	}
}

// explanation prints one version's. What must be read comes last, above the
// prompt.
func (p *printer) explanation(v *explanation) {
	p.line("%s", p.paint(bold, fmt.Sprintf("%s %s: %s", v.Runtime.Name, v.Runtime.Version, printable(v.Config.Path))))
	p.line("  %s", v.Config.Taken)
	for _, other := range v.Config.NotTaken {
		p.line("  there is also %s, which this runtime does not read (name it to explain it)", other)
	}
	if len(v.Without) > 0 {
		p.line("  as if these were not there: %s", printable(strings.Join(v.Without, ", ")))
	}
	p.summary(v)
	for _, note := range v.Notes {
		p.line("  note: %s", printable(note))
	}
	p.imports(v)
	p.handlers(v)
	p.blastRadius(v)
	if v.Bisect != nil {
		p.bisect(v.Bisect)
	}
	if v.Changes != nil {
		p.changes(v)
	}
	p.findings(v)
}

func (p *printer) summary(v *explanation) {
	d := v.Daemon
	switch d.State {
	case string(config.Running):
		p.line("  at its next start it %s: %s", p.paint(green, "runs with "+count(len(d.Handlers), "handler")), printable(strings.Join(d.Handlers, ", ")))
	case string(config.CRIOff):
		p.line("  at its next start it %s: %s", p.paint(red, "runs, but does not serve the CRI"), printable(d.Reason))
	default:
		p.line("  %s: %s", p.paint(red, "it will not start again"), printable(d.Reason))
	}
	if !slices.Equal(v.Dump.Handlers, d.Handlers) || v.Dump.Exit != 0 {
		answer := printable(strings.Join(v.Dump.Handlers, ", "))
		if v.Dump.Exit != 0 {
			answer = fmt.Sprintf("exit code %d", v.Dump.Exit)
		}
		if answer == "" {
			answer = "no handler"
		}
		p.line("  its config dump would say: %s", answer)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// blastRadius says which Pods depend on what.
func (p *printer) blastRadius(v *explanation) {
	if v.Daemon.State != string(config.Running) {
		p.heading("BLAST RADIUS")
		p.line("  %s at the runtime's next start: no Pod can start, whatever its RuntimeClass", p.paint(red, "the whole node"))
		return
	}
	p.heading("DEFAULT HANDLER")
	p.line("  %s: every Pod without a RuntimeClass goes through it, those of the system too; if it breaks, the node is lost", printable(v.Daemon.DefaultHandler))
	var others []string
	for _, name := range v.Daemon.Handlers {
		if name != v.Daemon.DefaultHandler {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		p.line("  %s: only Pods whose RuntimeClass asks for it", printable(strings.Join(others, ", ")))
	}
}

func (p *printer) bisect(rows []bisectRow) {
	p.heading("BISECT")
	table := [][]cell{{{text: "DROP-INS"}, {text: "HANDLERS"}, {text: "DEFAULT"}, {text: "DAEMON"}, {text: "LOST"}}}
	for _, r := range rows {
		what := map[string]string{"all": "all", "none": "none", "without": "all but ", "only": "only "}[r.DropIns]
		if r.File != "" {
			what += r.File
		}
		state := cell{text: r.State}
		if r.State != string(config.Running) {
			state.colour = red
		}
		lost := "-"
		if len(r.Lost) > 0 {
			lost = strings.Join(r.Lost, ", ")
		}
		table = append(table, []cell{
			{text: printable(what)}, {text: fmt.Sprint(len(r.Handlers))}, {text: printable(orDash(r.DefaultHandler))}, state, {text: printable(lost)},
		})
	}
	p.table("  ", table)
	for _, r := range rows {
		if r.DropIns == "all" && r.Reason != "" {
			p.line("  all: %s", printable(r.Reason))
		}
		if r.DropIns == "without" && r.Reason != "" {
			p.line("  all but %s: %s", printable(path.Base(r.File)), printable(r.Reason))
		}
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (p *printer) changes(v *explanation) {
	c := v.Changes
	p.heading("CHANGES FROM %s TO %s", c.From, v.Runtime.Version)
	if c.none() {
		p.line("  none")
		return
	}
	if len(c.State) > 0 {
		p.line("  the daemon: %s, was %s", c.State[1], c.State[0])
	}
	if len(c.DefaultHandler) > 0 {
		p.line("  the default handler: %s, was %s", printable(orDash(c.DefaultHandler[1])), printable(orDash(c.DefaultHandler[0])))
	}
	if len(c.Lost) > 0 {
		p.line("  handlers %s: %s", p.paint(red, "lost"), printable(strings.Join(c.Lost, ", ")))
	}
	if len(c.Gained) > 0 {
		p.line("  handlers %s: %s", p.paint(green, "gained"), printable(strings.Join(c.Gained, ", ")))
	}
	for _, f := range c.NewFindings {
		p.line("  new finding: %s", findingPlace(f))
	}
	for _, f := range c.GoneFindings {
		p.line("  finding gone: %s", findingPlace(f))
	}
}

func findingPlace(f config.Finding) string {
	text := f.Code
	if f.Handler != "" {
		text += " of " + f.Handler
	}
	if f.File != "" {
		text += " at " + place(f.File, f.Line)
	}
	return printable(text)
}

// place is a file and, when it is known, the line.
func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

func (p *printer) findings(v *explanation) {
	if len(v.Findings) == 0 {
		p.heading("FINDINGS: none, all is well")
		return
	}
	counts := map[config.Severity]int{}
	for _, f := range v.Findings {
		counts[f.Severity]++
	}
	var parts []string
	for _, s := range []config.Severity{config.Error, config.Warning} {
		if counts[s] > 0 {
			parts = append(parts, count(counts[s], strings.ToLower(string(s))))
		}
	}
	if n := counts[config.Info]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d for information", n))
	}
	p.heading("FINDINGS: %s", strings.Join(parts, ", "))
	for i := 0; i < len(v.Findings); {
		n := i + 1
		for n < len(v.Findings) && samePlace(v.Findings[i], v.Findings[n]) {
			n++
		}
		p.findingsAt(v.Findings[i:n])
		i = n
	}
}

func samePlace(a, b config.Finding) bool {
	return a.Severity == b.Severity && a.Code == b.Code && a.File == b.File && a.Line == b.Line
}

// findingsAt prints findings of one kind at one place.
func (p *printer) findingsAt(list []config.Finding) {
	colours := map[config.Severity]string{config.Error: red, config.Warning: yellow, config.Info: faint}
	head := p.paint(colours[list[0].Severity], string(list[0].Severity)) + " " + list[0].Code
	if list[0].File != "" {
		head += " " + printable(place(list[0].File, list[0].Line))
	}
	p.line("  %s", head)
	for i, f := range list {
		p.line("    %s", printable(f.Message))
		if f.Fix != "" && (i == len(list)-1 || list[i+1].Fix != f.Fix) {
			p.line("    fix: %s", printable(f.Fix))
		}
	}
}
