package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// statusPageText is the page. It fetches nothing: style and script are in it.
//
//go:embed status.html
var statusPageText string

var statusPage = template.Must(template.New("status").Parse(statusPageText))

// A page is what status.html shows.
type page struct {
	Where, Time string
	Cards       []pageCard
	Legend      []pageState
	Classes     []pageClass
	Handlers    []string
	Rows        []pageRow
	Drift       []pageDrift
	Defaults    []pageDefault
	PodsCounted bool
	Runtimes    []fleet.Runtime
	Apart       []pageApart
}

// A pageCard is a number that is to be seen first.
type pageCard struct {
	Number int
	Text   string
	Class  string // good, warn, bad, or none of these
}

// A pageState is a state as it is shown: by colour, by a symbol and by a word.
type pageState struct {
	State   inventory.HandlerState
	Symbol  string
	Word    string
	Meaning string
	Count   int
}

// pageStates are the states in the order of the legend.
var pageStates = []pageState{
	{State: inventory.Loaded, Symbol: "✓", Meaning: "a Pod can ask for it"},
	{State: fleet.Pending, Symbol: "↻", Meaning: "in the files, waits for a restart"},
	{State: inventory.Expiring, Symbol: "!", Meaning: "loaded, gone after the next restart"},
	{State: inventory.Broken, Symbol: "✗", Meaning: "loaded, its program is missing"},
	{State: inventory.Lost, Symbol: "↓", Meaning: "gone since the last restart"},
	{State: inventory.Lacking, Symbol: "–", Meaning: "not loaded"},
	{State: inventory.Unknown, Symbol: "?", Meaning: "nobody has told"},
}

func pageStateOf(state inventory.HandlerState) pageState {
	for _, s := range pageStates {
		if s.State == state {
			s.Word = strings.ToLower(string(state))
			return s
		}
	}
	return pageState{State: inventory.Unknown, Symbol: "?", Word: "unknown"}
}

type pageClass struct {
	fleet.Class
	Parts []pageState
}

type pageRow struct {
	fleet.Row
	Report string
	Cells  []pageState
}

type pageDrift struct {
	fleet.Drift
	Severity string
	Place    string
}

type pageDefault struct {
	fleet.Default
	Share int
	Pods  int
}

// A pageApart is nodes of which something is to be known beside their handlers.
type pageApart struct {
	What, Symbol, Meaning string
	fleet.Names
}

// apartOf are those of them that there are.
func apartOf(s *status) []pageApart {
	return slices.DeleteFunc([]pageApart{
		{"Down", "✗", "The report is current; the runtime does not answer, and which handlers it has is not known.", s.Down},
		{"Cordoned", "–", "No new Pod is put there until kubectl uncordon.", s.Cordoned},
		{"Unlooked", "?", "Not all shims and OCI runtimes were looked for (reporter.hostRoot).", s.Unlooked},
	}, func(a pageApart) bool { return a.Count == 0 })
}

// writeStatusPage prints the status as a page.
func writeStatusPage(w io.Writer, s *status) error {
	p := &page{
		Where: printable(s.where), Time: s.At.Format(time.RFC3339), Handlers: s.Handlers, Runtimes: s.Runtimes, Cards: cardsOf(s), Apart: apartOf(s),
	}
	for _, state := range pageStates {
		p.Legend = append(p.Legend, pageStateOf(state.State))
	}
	for _, c := range s.Classes {
		class := pageClass{Class: c}
		for _, state := range pageStates {
			if n := c.States[state.State]; n > 0 {
				part := pageStateOf(state.State)
				part.Count = n
				class.Parts = append(class.Parts, part)
			}
		}
		p.Classes = append(p.Classes, class)
	}
	for _, r := range s.Rows {
		row := pageRow{Row: r, Report: reportWords[r.Freshness]}
		for _, state := range r.States {
			row.Cells = append(row.Cells, pageStateOf(state))
		}
		p.Rows = append(p.Rows, row)
	}
	for _, d := range s.Drift {
		drift := pageDrift{Drift: d, Severity: string(d.Severity)}
		if d.File != "" {
			drift.Place = place(d.File, int(d.Line))
		}
		p.Drift = append(p.Drift, drift)
	}
	for _, d := range s.Defaults {
		shown := pageDefault{Default: d, Share: 100 * d.Count / max(s.Nodes.Total, 1)}
		if d.Pods != nil {
			p.PodsCounted, shown.Pods = true, *d.Pods
		}
		p.Defaults = append(p.Defaults, shown)
	}
	if err := statusPage.Execute(w, p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// reportWords say of which kind the knowledge of a node is.
var reportWords = map[inventory.Freshness]string{
	inventory.Fresh: "✓ current", inventory.Stale: "! too old", inventory.Kubelet: "! kubelet's list only", inventory.Young: "↻ node is new", inventory.Silent: "? none",
}

// cardsOf are the numbers at the top.
func cardsOf(s *status) []pageCard {
	errors, warnings, whole := 0, 0, 0
	for i := range s.Drift {
		if s.Drift[i].Severity == v1alpha1.SeverityError {
			errors += s.Drift[i].Count
		} else {
			warnings += s.Drift[i].Count
		}
	}
	for i := range s.Classes {
		if len(s.Classes[i].Conditions) == 0 {
			whole++
		}
	}
	card := func(n int, text, class string, alarmed bool) pageCard {
		if !alarmed {
			class = "good"
		}
		return pageCard{n, text, class}
	}
	untold := s.Nodes.Total - s.Nodes.Fresh
	return []pageCard{
		{s.Nodes.Total, "nodes", ""},
		card(s.Nodes.Fresh, "with a current report", "warn", untold > 0),
		card(whole, fmt.Sprintf("of %d classes without a warning", len(s.Classes)), "warn", whole < len(s.Classes)),
		card(errors, "errors found", "bad", errors > 0),
		card(warnings, "warnings found", "warn", warnings > 0),
	}
}
