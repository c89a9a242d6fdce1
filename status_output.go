package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// statusLines is how many lines each part of the text has: all parts together are a
// screen.
const statusLines = 8

// stateColours are the colours of the states of a handler.
var stateColours = map[inventory.HandlerState]string{
	inventory.Lost: red, inventory.Broken: red, inventory.Expiring: yellow, fleet.Pending: yellow,
	inventory.Lacking: "", inventory.Unknown: faint, inventory.Loaded: green,
}

// status prints it for people; wide has more columns and all lines.
func (p *printer) status(s *status, wide bool) {
	n := s.Nodes
	p.line("%s: %s, %s", p.paint(bold, printable(s.where)), s.At.Format(time.RFC3339), countOf(n.Total, "node"))
	p.statusClasses(s, wide)
	p.statusRuntimes(s, wide)
	p.statusDrift(s, wide)
	p.statusDefaults(s, wide)
	p.statusUntold(s)
	if s.Cordoned.Count > 0 {
		p.heading("CORDONED: %s: no new Pod is put there until kubectl uncordon", printable(s.Cordoned.Sample().String()))
	}
	if wide {
		p.statusRows(s)
	}
}

// statusTable prints the lines of a table that there is room for.
func (p *printer) statusTable(rows [][]cell, wide bool) {
	left := 0
	if most := statusLines + 1; !wide && len(rows) > most {
		left = len(rows) - most
		rows = rows[:most]
	}
	p.table("  ", rows)
	if left > 0 {
		p.line("  and %d more (-o wide has all)", left)
	}
}

func (p *printer) statusClasses(s *status, wide bool) {
	if len(s.Classes) == 0 {
		p.heading("RUNTIMECLASSES: none")
		return
	}
	p.heading("RUNTIMECLASSES")
	rows := [][]cell{{{text: "CLASS"}, {text: "HANDLER"}, {text: "LOADED"}, {text: "VERDICT"}, {text: "NOT SIMPLY LOADED"}}}
	for i := range s.Classes {
		c := &s.Classes[i]
		loaded := cell{text: fmt.Sprintf("%d/%d", c.Loaded, c.Nodes), colour: green}
		if c.States[inventory.Loaded] < c.Nodes || c.Nodes == 0 {
			loaded.colour = yellow
		}
		verdict := cell{text: strings.Join(c.Conditions, ","), colour: yellow}
		if verdict.text == "" {
			verdict = cell{text: "ok", colour: green}
		}
		rows = append(rows, []cell{{text: printable(c.Name)}, {text: printable(c.Handler)}, loaded, verdict, {text: otherStates(c.States)}})
	}
	p.statusTable(rows, wide)
}

// otherStates counts the nodes whose state is not Loaded, the gravest first.
func otherStates(states map[inventory.HandlerState]int) string {
	var parts []string
	for _, state := range fleet.States {
		if n := states[state]; n > 0 && state != inventory.Loaded {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(state))))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func (p *printer) statusRuntimes(s *status, wide bool) {
	p.heading("RUNTIMES")
	rows := [][]cell{{{text: "RUNTIME"}, {text: "NODES"}, {text: "WHERE"}}}
	for i := range s.Runtimes {
		r := &s.Runtimes[i]
		rows = append(rows, []cell{{text: printable(orDash(r.Runtime))}, {text: fmt.Sprint(r.Count)}, {text: printable(r.Sample().String())}})
	}
	p.statusTable(rows, wide)
}

func (p *printer) statusDrift(s *status, wide bool) {
	if len(s.Drift) == 0 {
		p.heading("FINDINGS: %s", p.paint(green, "none"))
		return
	}
	p.heading("FINDINGS")
	head := []cell{{text: "FINDING"}, {text: "HANDLER"}, {text: "NODES"}, {text: "WHERE"}}
	if wide {
		head = append(head, cell{text: "SUCH AS"})
	}
	rows := [][]cell{head}
	for i := range s.Drift {
		d := &s.Drift[i]
		colour := yellow
		if d.Severity == v1alpha1.SeverityError {
			colour = red
		}
		row := []cell{{text: printable(d.Code), colour: colour}, {text: printable(orDash(d.Handler))}, {text: fmt.Sprint(d.Count)}, {text: printable(d.Sample().String())}}
		if wide {
			such := d.Message
			if d.File != "" {
				such = place(d.File, int(d.Line)) + ": " + such
			}
			row = append(row, cell{text: printable(such)})
		}
		rows = append(rows, row)
	}
	p.statusTable(rows, wide)
	p.line("  runtimegate why node/%s says what to do", printable(s.Drift[0].Nodes[0]))
}

func (p *printer) statusDefaults(s *status, wide bool) {
	p.heading("DEFAULT HANDLERS: what breaks one stops every Pod without a RuntimeClass on these nodes")
	rows := [][]cell{{{text: "HANDLER"}, {text: "NODES"}, {text: "BROKEN"}, {text: "EXPIRING"}, {text: "PODS"}, {text: "WHERE"}}}
	for i := range s.Defaults {
		d := &s.Defaults[i]
		name, pods := d.Handler, "-"
		if name == "" {
			name = "not told"
		}
		if d.Pods != nil {
			pods = fmt.Sprint(*d.Pods)
		}
		rows = append(rows, []cell{
			{text: printable(name)}, {text: fmt.Sprint(d.Count)}, alarm(d.Broken, red), alarm(d.Expiring, yellow), {text: pods}, {text: printable(d.Sample().String())},
		})
	}
	p.statusTable(rows, wide)
}

// alarm is a number that is painted if it is not 0.
func alarm(n int, colour string) cell {
	if n == 0 {
		return cell{text: "0"}
	}
	return cell{text: fmt.Sprint(n), colour: colour}
}

func (p *printer) statusUntold(s *status) {
	switch {
	case len(s.Untold) == 0 && s.Down.Count+s.Unlooked.Count == 0:
		p.heading("REPORTS: %s", p.paint(green, "of all nodes, all current"))
		return
	case len(s.Untold) == 0:
		p.heading("REPORTS: of all nodes, all current")
	default:
		p.heading("REPORTS: %d of %s are current", s.Nodes.Fresh, countOf(s.Nodes.Total, "node"))
	}
	words := map[inventory.Freshness]string{
		inventory.Stale: "too old to count", inventory.Kubelet: "none; the kubelet lists the handlers", inventory.Young: "none yet; the node is new", inventory.Silent: "none",
	}
	rows := [][]cell{}
	for i := range s.Untold {
		u := &s.Untold[i]
		rows = append(rows, []cell{{text: string(u.Freshness), colour: yellow}, {text: fmt.Sprint(u.Count)}, {text: words[u.Freshness]}, {text: printable(u.Sample().String())}})
	}
	if s.Down.Count > 0 {
		rows = append(rows, []cell{{text: "Down", colour: red}, {text: fmt.Sprint(s.Down.Count)}, {text: "current; the runtime does not answer"}, {text: printable(s.Down.Sample().String())}})
	}
	if s.Unlooked.Count > 0 {
		rows = append(rows, []cell{{text: "Unlooked", colour: faint}, {text: fmt.Sprint(s.Unlooked.Count)}, {text: "current; not all shims and OCI runtimes were looked for (reporter.hostRoot)"}, {text: printable(s.Unlooked.Sample().String())}})
	}
	p.table("  ", rows)
}

// statusRows prints the groups of nodes and the state of each handler there.
func (p *printer) statusRows(s *status) {
	p.heading("NODES AND HANDLERS")
	head := []cell{{text: "NODES"}, {text: "RUNTIME"}, {text: "DEFAULT"}, {text: "REPORT"}}
	for _, name := range s.Handlers {
		head = append(head, cell{text: printable(name)})
	}
	rows := [][]cell{head}
	for i := range s.Rows {
		r := &s.Rows[i]
		row := []cell{{text: printable(r.Sample().String())}, {text: printable(orDash(r.Runtime))}, {text: printable(orDash(r.Default))}, {text: string(r.Freshness)}}
		for _, state := range r.States {
			row = append(row, cell{text: strings.ToLower(string(state)), colour: stateColours[state]})
		}
		rows = append(rows, row)
	}
	p.table("  ", rows)
}
