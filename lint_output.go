package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/webhook"
)

// A lintResult is the verdict on one object, as -o json prints it.
type lintResult struct {
	Object     lintObject      `json:"object"`
	Action     string          `json:"action"`
	Conditions []lintCondition `json:"conditions"`
	Message    string          `json:"message"`
	Place      lintPlace       `json:"place"`

	action webhook.Action
	in     string // the namespace that the manifest names
}

// A lintObject says which object a result is about.
type lintObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// A lintCondition is one condition that holds.
type lintCondition struct {
	Condition string    `json:"condition"`
	Action    string    `json:"action"`
	Message   string    `json:"message"`
	Place     lintPlace `json:"place"`

	action webhook.Action
}

func newLintResult(object *readObject, namespace string, verdict webhook.Verdict) lintResult {
	version, kind := object.kind.ToAPIVersionAndKind()
	result := lintResult{
		Object:     lintObject{APIVersion: version, Kind: kind, Namespace: namespace, Name: object.GetName()},
		Action:     verdict.Action().String(),
		Conditions: []lintCondition{},
		Message:    verdict.Message(),
		action:     verdict.Action(),
		in:         object.GetNamespace(),
	}
	if result.Object.Name == "" {
		result.Object.Name = object.GetGenerateName()
	}
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		at := object.place(object.meant(f))
		result.Conditions = append(result.Conditions, lintCondition{string(f.Condition), f.Action.String(), f.Detail, at, f.Action})
	}
	if len(result.Conditions) > 0 {
		result.Place = result.Conditions[0].Place
	} else {
		result.Place = object.place(object.meant(nil))
	}
	return result
}

// title is the object's name for people.
func (r lintResult) title() string {
	name := r.Object.Kind + "/" + r.Object.Name
	if r.in != "" {
		name += " in " + r.in
	}
	return name
}

// isRejected says whether the API server would reject the object.
func (r lintResult) isRejected() bool {
	return slices.ContainsFunc(r.Conditions, func(c lintCondition) bool { return c.Condition == string(webhook.Rejected) })
}

// A lintOutput is all that is printed.
type lintOutput struct {
	results []lintResult
	// faults are what kept it from judging all.
	faults []error
	// failOn is the mildest action that fails.
	failOn webhook.Action
}

// lintForms write the forms of -o.
var lintForms = map[string]func(*lintOutput, io.Writer) error{
	"text":   (*lintOutput).text,
	"json":   (*lintOutput).json,
	"yaml":   (*lintOutput).yaml,
	"sarif":  (*lintOutput).sarif,
	"github": (*lintOutput).github,
	"junit":  (*lintOutput).junit,
}

func (o *lintOutput) json(w io.Writer) error { return writeJSON(w, o.results) }

func (o *lintOutput) yaml(w io.Writer) error {
	var data bytes.Buffer
	if err := o.json(&data); err != nil {
		return err
	}
	text, err := yamlOf(data.Bytes())
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// text prints a line for each result that has something to tell, and one that
// counts all.
func (o *lintOutput) text(w io.Writer) error {
	p := &printer{colour: wantsColour(w)}
	colours := map[webhook.Action]string{webhook.Deny: red, webhook.Warn: yellow, webhook.Audit: faint}
	for i := range o.results {
		r := &o.results[i]
		if r.action == webhook.Allow {
			continue
		}
		source := ""
		if r.Place.Source != "" {
			source = " (" + r.Place.Source + ")"
		}
		p.line("%s: %s: %s: %s", printable(r.Place.String()), printable(r.title()+source), p.paint(colours[r.action], r.Action), r.Message)
	}
	p.line("%s", o.summary())
	_, err := w.Write(p.Bytes())
	return err
}

// summary counts all in a line.
func (o *lintOutput) summary() string {
	counts := map[webhook.Action]int{}
	for i := range o.results {
		counts[o.results[i].action]++
	}
	var parts []string
	for action := webhook.Deny; action >= webhook.Allow; action-- {
		if n := counts[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	summary := "no object asks for a runtime handler"
	if len(o.results) > 0 {
		summary = fmt.Sprintf("%s judged: %s", countOf(len(o.results), "object"), strings.Join(parts, ", "))
	}
	if len(o.faults) > 0 {
		summary += fmt.Sprintf("; %s", countOf(len(o.faults), "error"))
	}
	return summary
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
