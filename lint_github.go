package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/runtimegate/runtimegate/webhook"
)

// How GitHub wants data and properties of workflow commands written.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// github prints workflow commands, which GitHub Actions shows at the lines of a
// change, and the summary.
func (o *lintOutput) github(w io.Writer) error {
	p := &printer{}
	for _, f := range o.findings() {
		level := map[lintLevel]string{levelError: "error", levelWarning: "warning", levelNote: "notice"}[f.level]
		p.line("::%s %stitle=%s::%s", level, githubPlace(f.place), githubProperty.Replace(f.title), githubData.Replace(f.message))
	}
	p.line("%s", o.summary())
	_, err := w.Write(p.Bytes())
	return err
}

// githubPlace is what leads GitHub to the place: of what a template made, the
// template, whose lines are not those that were read.
func githubPlace(at lintPlace) string {
	switch {
	case at.Source != "":
		return fmt.Sprintf("file=%s,", githubProperty.Replace(at.Source))
	case at.File == "" || at.File == stdinName:
		return ""
	}
	text := fmt.Sprintf("file=%s,line=%d,", githubProperty.Replace(at.File), at.Line)
	if at.Column > 0 {
		text += fmt.Sprintf("col=%d,", at.Column)
	}
	return text
}

// A lintLevel is how much a finding matters to CI.
type lintLevel int

const (
	levelNote lintLevel = iota
	levelWarning
	levelError // it fails
)

// A lintFinding is one thing to tell to CI: a condition of an object, or a fault.
type lintFinding struct {
	rule, title, message string
	level                lintLevel
	place                lintPlace
	object               *lintResult // nil of a fault
}

// findings are all there are, in the order of the manifests, and then the faults.
func (o *lintOutput) findings() []lintFinding {
	var all []lintFinding
	for i := range o.results {
		r := &o.results[i]
		for _, c := range r.Conditions {
			if c.action == webhook.Allow {
				continue
			}
			all = append(all, lintFinding{
				rule: c.Condition, title: printable(r.title()) + ": " + c.Condition, message: c.Message, level: o.level(c.action), place: c.Place, object: r,
			})
		}
	}
	for _, fault := range o.faults {
		at, text := placeOfError(fault)
		all = append(all, lintFinding{title: "runtimegate lint", message: printable(text), level: levelError, place: at})
	}
	return all
}

func (o *lintOutput) level(action webhook.Action) lintLevel {
	switch {
	case action >= o.failOn:
		return levelError
	case action == webhook.Warn:
		return levelWarning
	}
	return levelNote
}
