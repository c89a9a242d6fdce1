package main

import (
	"slices"

	"github.com/runtimegate/runtimegate/config"
)

// changes are what differs from the version before: what an upgrade does.
type changes struct {
	From   string   `json:"from"`
	Gained []string `json:"gained"`
	Lost   []string `json:"lost"`
	// State and DefaultHandler are old and new, absent when they are equal; of
	// a daemon that does not run no default is known.
	State          []string `json:"state,omitempty"`
	DefaultHandler []string `json:"defaultHandler,omitempty"`
	// NewFindings and GoneFindings leave out those of severity Info.
	NewFindings  []config.Finding `json:"newFindings"`
	GoneFindings []config.Finding `json:"goneFindings"`
}

func changesBetween(before, after *explanation) *changes {
	c := &changes{
		From:         before.Runtime.Version,
		Gained:       minus(after.Daemon.Handlers, before.Daemon.Handlers),
		Lost:         minus(before.Daemon.Handlers, after.Daemon.Handlers),
		NewFindings:  otherFindings(after.Findings, before.Findings),
		GoneFindings: otherFindings(before.Findings, after.Findings),
	}
	if before.Daemon.State != after.Daemon.State {
		c.State = []string{before.Daemon.State, after.Daemon.State}
	}
	running := string(config.Running)
	if before.Daemon.State == running && after.Daemon.State == running && before.Daemon.DefaultHandler != after.Daemon.DefaultHandler {
		c.DefaultHandler = []string{before.Daemon.DefaultHandler, after.Daemon.DefaultHandler}
	}
	return c
}

// none tells that the upgrade changes nothing of what is compared.
func (c *changes) none() bool {
	return len(c.Gained)+len(c.Lost)+len(c.State)+len(c.DefaultHandler)+len(c.NewFindings)+len(c.GoneFindings) == 0
}

func minus(a, b []string) []string {
	out := []string{}
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// otherFindings are those of a that b has not, by what they are about: the
// wording may name the version.
func otherFindings(a, b []config.Finding) []config.Finding {
	out := []config.Finding{}
	for _, f := range a {
		same := func(g config.Finding) bool {
			return g.Code == f.Code && g.Handler == f.Handler && g.File == f.File && g.Line == f.Line
		}
		if f.Severity != config.Info && !slices.ContainsFunc(b, same) {
			out = append(out, f)
		}
	}
	return out
}
