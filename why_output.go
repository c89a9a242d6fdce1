package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/webhook/remedy"
	"github.com/runtimegate/runtimegate/webhook/why"
)

// writeWhy prints the answers in the form asked for.
func writeWhy(w io.Writer, form string, answers []*why.Answer, now time.Time) error {
	if form != "text" {
		return writeAs(w, form, answers)
	}
	p := &printer{colour: wantsColour(w)}
	for i, a := range answers {
		if i > 0 {
			p.line("")
		}
		p.answer(a, now)
	}
	if len(answers) == 0 {
		p.line("no object asks for a runtime handler")
	}
	_, err := w.Write(p.Bytes())
	return err
}

// writeAs prints a value as JSON or YAML.
func writeAs(w io.Writer, form string, value any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
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

// answer prints one. What to do comes last, above the prompt.
func (p *printer) answer(a *why.Answer, now time.Time) {
	colours := map[why.Outcome]string{why.Fine: green, why.Wrong: red, why.Unknown: yellow}
	name := a.Object.Kind + "/" + a.Object.Name
	if a.Object.Namespace != "" {
		name += " in " + a.Object.Namespace
	}
	p.line("%s: %s: %s", p.paint(bold, printable(name)), p.paint(colours[a.Outcome], string(a.Outcome)), printable(a.Summary))
	if a.Chain != nil {
		p.chain(a)
		p.groups(a.Groups)
		p.verdict(a.Verdict)
		p.events(a.Events, now)
	}
	if a.Node != nil {
		p.node(a.Node, now)
	}
	p.steps(a.Steps)
}

func (p *printer) chain(a *why.Answer) {
	c := a.Chain
	p.heading("CHAIN")
	switch {
	case c.Class == "":
		p.line("  RuntimeClass  none")
	case !c.ClassFound:
		p.line("  RuntimeClass  %s, %s", printable(c.Class), p.paint(red, "which is not there"))
		return
	default:
		selector := ""
		for _, key := range sortedKeysOf(c.NodeSelector) {
			selector += ", nodeSelector " + key + "=" + c.NodeSelector[key]
		}
		p.line("  RuntimeClass  %s%s", printable(c.Class), printable(selector))
	}
	handler := c.Handler
	if handler == "" {
		handler = "the default one of each node"
	}
	p.line("  handler       %s", printable(handler))
	if c.Bound != "" {
		p.line("  node          %s, to which it is bound", printable(c.Bound))
		return
	}
	if !c.Looked {
		p.line("  nodes         not looked for: the API server rejects the Pods")
		return
	}
	p.line("  nodes         %d of %s: %d have the handler, %d lack it, %d have not told", c.Candidates, countOf(c.Nodes, "node"), c.Have, c.Lack, c.NotKnown)
}

func sortedKeysOf(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// maxGroups is how many groups of nodes are shown.
const maxGroups = 12

func (p *printer) groups(groups []why.Group) {
	if len(groups) == 0 {
		return
	}
	p.heading("NODES")
	rows := [][]cell{{{text: "NODES"}, {text: "RUNTIME"}, {text: "WRITTEN"}, {text: "NEXT"}, {text: "LOADED"}, {text: "RUNNABLE"}, {text: "STATE"}}}
	for i := range groups[:min(len(groups), maxGroups)] {
		g := &groups[i]
		names := inventory.Nodes{Count: g.Count, Sample: g.Nodes[:min(len(g.Nodes), inventory.SampleSize)]}
		rows = append(rows, []cell{
			{text: printable(names.String())}, {text: printable(orDash(g.Runtime))},
			answerCell(g.Written), answerCell(g.Next), answerCell(g.Loaded), answerCell(g.Runnable), {text: stateText(g)},
		})
	}
	p.table("  ", rows)
	if more := len(groups) - maxGroups; more > 0 {
		p.line("  and %s more (-o json has all)", countOf(more, "group"))
	}
	p.line("  written: a file defines it; next: the next start loads it; loaded: a Pod can ask for it now; runnable: shim and OCI runtime are there")
	for i := range groups[:min(len(groups), maxGroups)] {
		for _, f := range groups[i].Findings {
			p.line("  %s: %s", printable(groups[i].Nodes[0]), p.nodeFinding(f))
		}
	}
}

func (p *printer) nodeFinding(f why.NodeFinding) string {
	colours := map[string]string{"Error": red, "Warning": yellow, "Info": faint}
	text := p.paint(colours[string(f.Severity)], f.Code)
	if f.File != "" {
		text += " " + printable(place(f.File, int(f.Line)))
	}
	return text + ": " + printable(f.Message)
}

func answerCell(a fleet.Answer) cell {
	colours := map[fleet.Answer]string{fleet.Yes: green, fleet.No: red, fleet.NotKnown: yellow}
	texts := map[fleet.Answer]string{fleet.Yes: "yes", fleet.No: "no", fleet.NotKnown: "?", fleet.NoMeaning: "-"}
	return cell{text: texts[a], colour: colours[a]}
}

// stateText says in a word or two what is true of a group.
func stateText(g *why.Group) string {
	text := g.State
	switch {
	case g.Down:
		text += ", does not answer"
	case g.Doubt != "":
		text += " (" + g.Doubt + ")"
	}
	if g.NotReady {
		text += ", NotReady"
	}
	if g.Cordoned {
		text += ", cordoned"
	}
	switch fleet.Place(g.Place) {
	case fleet.Tainted:
		return text + ", kept off by taint " + printable(g.Taint)
	case fleet.TooSmall:
		return text + ", too small"
	case fleet.Crowded:
		return text + ", too small with the class's overhead"
	case fleet.RuledOut:
		return text + ", ruled out"
	}
	return text
}

func (p *printer) verdict(v *why.Verdict) {
	p.heading("VERDICT")
	if len(v.Conditions) == 0 {
		p.line("  %s", p.paint(green, v.Action))
	}
	colours := map[string]string{"Deny": red, "Warn": yellow, "Audit": faint, "Allow": faint}
	for _, c := range v.Conditions {
		p.line("  %s %s: %s", p.paint(colours[c.Action], c.Action), c.Condition, printable(c.Message))
	}
}

func (p *printer) events(events []why.Event, now time.Time) {
	if len(events) == 0 {
		return
	}
	p.heading("EVENTS")
	for _, e := range events {
		on := e.On
		if e.Node != "" {
			on += " on " + e.Node
		}
		times := ""
		if e.Count > 1 {
			times = fmt.Sprintf(", %d times", e.Count)
		}
		p.line("  %s, %s%s: %s: %s", printable(on), ago(now, e.Time), times, printable(e.Reason), printable(e.Message))
		is := "that is"
		if e.Past {
			is = "that is past, and was"
		}
		p.line("    %s: %s (words of %s)", is, printable(e.Meaning), e.By)
	}
}

// ago says how long ago something was.
func ago(now, then time.Time) string {
	if then.IsZero() {
		return "at a time that is not known"
	}
	d := now.Sub(then)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

func (p *printer) node(n *why.Node, now time.Time) {
	p.heading("RUNTIME")
	p.line("  runtime          %s", printable(orDash(strings.TrimSpace(n.Runtime+" "+n.Version))))
	if n.Endpoint != "" {
		p.line("  socket           %s", printable(n.Endpoint))
	}
	if n.StartedAt != nil {
		p.line("  started          %s, %s", n.StartedAt.Format(time.RFC3339), ago(now, *n.StartedAt))
	}
	if n.Down {
		answered := "never"
		if n.ObservedAt != nil {
			answered = n.ObservedAt.Format(time.RFC3339) + ", " + ago(now, *n.ObservedAt)
		}
		p.line("  last answer      %s: %s; what follows is what it had then", answered, p.paint(red, "it does not answer now"))
	}
	if n.NotReady != "" {
		p.line("  node             %s", p.paint(red, printable(n.NotReady)))
	}
	if n.Cordoned {
		p.line("  cordoned         %s", p.paint(yellow, "yes: no new Pod is put there"))
	}
	report := "none"
	if n.RenewedAt != nil {
		report = n.RenewedAt.Format(time.RFC3339) + ", " + ago(now, *n.RenewedAt)
	}
	p.line("  report           %s (%s)", report, n.Freshness)
	p.line("  default handler  %s", printable(orDash(n.DefaultHandler)))
	if len(n.Handlers) > 0 {
		p.heading("HANDLERS")
		rows := [][]cell{{{text: "HANDLER"}, {text: "WRITTEN"}, {text: "NEXT"}, {text: "LOADED"}, {text: "RUNNABLE"}, {text: "STATE"}, {text: "CLASSES"}, {text: "ORIGIN"}}}
		for _, h := range n.Handlers {
			rows = append(rows, []cell{
				{text: printable(h.Name)}, answerCell(h.Written), answerCell(h.Next), answerCell(h.Loaded), answerCell(h.Runnable),
				{text: h.State}, {text: printable(orDash(strings.Join(h.Classes, ",")))}, {text: printable(orDash(h.Origin))},
			})
		}
		p.table("  ", rows)
	}
	p.heading("FINDINGS: %s", countOf(len(n.Findings), "finding"))
	for _, f := range n.Findings {
		p.line("  %s", p.nodeFinding(f))
	}
}

func (p *printer) steps(steps []remedy.Step) {
	if len(steps) == 0 {
		return
	}
	p.heading("WHAT MENDS IT, IN THIS ORDER")
	for i, s := range steps {
		do, prompt := s.Do, "$"
		if s.On != "" {
			do, prompt = "On "+s.On+": "+do, "#"
		}
		p.line("  %2d. %s", i+1, printable(do))
		for _, run := range s.Run {
			p.line("      %s %s", p.paint(faint, prompt), p.paint(bold, printable(run)))
		}
	}
}
