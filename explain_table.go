package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/runtimegate/runtimegate/config"
)

// explainPrinter writes for people.
type explainPrinter struct {
	out   io.Writer
	color bool
	err   error
}

// colorful tells whether out is a terminal that may have colours.
func colorful(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))
}

func (p *explainPrinter) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format, args...)
	}
}

// paint gives a severity its colour.
func (p *explainPrinter) paint(s config.Severity) string {
	codes := map[config.Severity]string{config.Error: "31", config.Warning: "33", config.Info: "36"}
	if !p.color {
		return string(s)
	}
	return "\x1b[" + codes[s] + "m" + string(s) + "\x1b[0m"
}

func (p *explainPrinter) all(all []oneExplained, who string) {
	for i, one := range all {
		if i > 0 {
			p.printf("\n")
		}
		p.one(one, who)
	}
	for i := 1; i < len(all); i++ {
		p.upgrade(all[0].result, all[i].result)
	}
}

func (p *explainPrinter) one(one oneExplained, who string) {
	r := one.result
	p.printf("%s would read %s", r.Runtime, one.file)
	if who != "" {
		p.printf(" (%s)", who)
	}
	p.printf("\n")
	for _, n := range r.Notes {
		p.printf("note: %s\n", n)
	}
	p.state(r)
	p.files(r)
	p.handlers(r)
	p.findings(r)
	if len(one.bisect) > 0 {
		p.bisect(one.bisect)
	}
}

func (p *explainPrinter) state(r *config.Result) {
	final := r.Final()
	switch r.Daemon.State {
	case config.Running:
		p.printf("It would run with %s.\n", count(len(final.Handlers), "handler"))
	case config.CRIOff:
		p.printf("It would run but serve no Pods: %s\n", r.Daemon.Reason)
		return
	case config.NoStart:
		p.printf("It would not start: %s\n", r.Daemon.Reason)
		return
	}
	p.printf("The default handler is %q: when it breaks, every Pod of the node without a RuntimeClass fails; when another breaks, only those of its class.\n", final.DefaultHandler)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (p *explainPrinter) files(r *config.Result) {
	p.printf("\nFILES, in load order: a later one overrides an earlier one\n")
	for i, f := range r.Files {
		p.printf("%3d  %s", i+1, clean(f.Path))
		if r.Runtime.Name == config.Containerd {
			p.printf("  version %d", f.Version)
		}
		if f.TouchesCRI {
			p.printf("  CRI")
		}
		if f.Error != "" {
			p.printf("  ERROR: %s", clean(f.Error))
		}
		p.printf("\n")
		for _, imp := range f.Imports {
			p.printf("       imports %q (line %d): %s", imp.Pattern, imp.Line, few(imp.Matched, "nothing"))
			if len(imp.Passed) > 0 {
				p.printf("; not matched: %s", few(imp.Passed, ""))
			}
			p.printf("\n")
		}
	}
}

// few prints some of the paths of a list.
func few(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	more := ""
	if len(list) > 8 {
		list, more = list[:8], fmt.Sprintf(" and %d more", len(list)-8)
	}
	return clean(strings.Join(list, ", ")) + more
}

// clean keeps a file's name or text from moving the terminal's cursor.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

func (p *explainPrinter) handlers(r *config.Result) {
	p.printf("\n")
	final := r.Final()
	w := tabwriter.NewWriter(p.out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "HANDLER\tFATE\tFROM\tTYPE\tSHIM\tRUNTIME")
	for _, h := range r.Handlers {
		name := clean(h.Name)
		if _, ok := final.Handler(h.Name); ok && h.Name == final.DefaultHandler {
			name += " (default)"
		}
		from := "built in"
		if len(h.Origins) > 0 {
			from = ""
		}
		for i, o := range h.Origins {
			if i > 0 {
				from += ", "
			}
			from += fmt.Sprintf("%s:%d", clean(o.File), o.Line)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", name, h.Fate, from, dash(clean(h.RuntimeType)), program(h.Shim), program(h.Binary))
	}
	if err := w.Flush(); p.err == nil {
		p.err = err
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func program(prog *config.Program) string {
	switch {
	case prog == nil || prog.Path == "":
		return "-"
	case prog.State == config.Found:
		return clean(prog.Path)
	}
	return fmt.Sprintf("%s (%s)", clean(prog.Path), prog.State)
}

func (p *explainPrinter) findings(r *config.Result) {
	if len(r.Findings) == 0 {
		p.printf("\nNo findings: all is well.\n")
		return
	}
	if !slices.ContainsFunc(r.Findings, func(f config.Finding) bool { return f.Severity != config.Info }) {
		p.printf("\nNothing is wrong.")
	}
	p.printf("\nFINDINGS\n")
	for _, f := range r.Findings {
		p.printf("%s %s", p.paint(f.Severity), f.Code)
		if f.File != "" {
			p.printf(" %s:%d", clean(f.File), f.Line)
		}
		p.printf("\n    %s\n", clean(f.Message))
		if f.Fix != "" {
			p.printf("    fix: %s\n", clean(f.Fix))
		}
	}
}

func (p *explainPrinter) bisect(variants []config.Variant) {
	p.printf("\nBISECT\n")
	w := tabwriter.NewWriter(p.out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "FILES\tSTATE\tHANDLERS\tDEFAULT\tNAMES")
	for _, v := range variants {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", clean(v.Name), v.State, len(v.Handlers), dash(clean(v.DefaultHandler)), dash(clean(strings.Join(v.Handlers, ","))))
	}
	if err := w.Flush(); p.err == nil {
		p.err = err
	}
}

// upgrade says what changes from one version to another.
func (p *explainPrinter) upgrade(a, b *config.Result) {
	before, after := a.Final(), b.Final()
	var changes []string
	for _, h := range before.Handlers {
		if _, ok := after.Handler(h.Name); !ok {
			changes = append(changes, "loses "+clean(h.Name))
		}
	}
	for _, h := range after.Handlers {
		if _, ok := before.Handler(h.Name); !ok {
			changes = append(changes, "gains "+clean(h.Name))
		}
	}
	if before.DefaultHandler != after.DefaultHandler {
		changes = append(changes, fmt.Sprintf("default %q becomes %q", before.DefaultHandler, after.DefaultHandler))
	}
	if a.Daemon.State != b.Daemon.State {
		changes = append(changes, fmt.Sprintf("%s becomes %s", a.Daemon.State, b.Daemon.State))
	}
	if len(changes) == 0 {
		changes = []string{"nothing changes"}
	}
	p.printf("\nFrom %s to %s: %s\n", a.Runtime, b.Runtime, strings.Join(changes, ", "))
}
