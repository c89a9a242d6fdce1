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

	action webhook.Action
	file   string
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
	Condition string `json:"condition"`
	Action    string `json:"action"`
	Message   string `json:"message"`
}

func newLintResult(object *readObject, namespace string, verdict webhook.Verdict) lintResult {
	version, kind := object.kind.ToAPIVersionAndKind()
	result := lintResult{
		Object:     lintObject{APIVersion: version, Kind: kind, Namespace: namespace, Name: object.GetName()},
		Action:     verdict.Action().String(),
		Conditions: []lintCondition{},
		Message:    verdict.Message(),
		action:     verdict.Action(),
		file:       object.at.file,
	}
	if result.Object.Name == "" {
		result.Object.Name = object.GetGenerateName()
	}
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		result.Conditions = append(result.Conditions, lintCondition{string(f.Condition), f.Action.String(), f.Detail})
	}
	return result
}

// isRejected says whether the API server would reject the object.
func (r lintResult) isRejected() bool {
	return slices.ContainsFunc(r.Conditions, func(c lintCondition) bool { return c.Condition == string(webhook.Rejected) })
}

// writeLint prints the results in the form asked for.
func writeLint(w io.Writer, form string, results []lintResult, faults int) error {
	if form == "text" {
		return writeLintText(w, results, faults)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(results); err != nil {
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

// writeLintText prints a line for each result that has something to tell, and
// one that counts all.
func writeLintText(w io.Writer, results []lintResult, faults int) error {
	p := &printer{colour: wantsColour(w)}
	colours := map[webhook.Action]string{webhook.Deny: red, webhook.Warn: yellow, webhook.Audit: faint}
	counts := map[webhook.Action]int{}
	for i := range results {
		r := &results[i]
		counts[r.action]++
		if r.action > webhook.Allow {
			p.line("%s: %s/%s: %s: %s", printable(r.file), r.Object.Kind, printable(r.Object.Name), p.paint(colours[r.action], r.Action), r.Message)
		}
	}
	var parts []string
	for action := webhook.Deny; action >= webhook.Allow; action-- {
		if n := counts[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	summary := "no object asks for a runtime handler"
	if len(results) > 0 {
		summary = fmt.Sprintf("%s judged: %s", countOf(len(results), "object"), strings.Join(parts, ", "))
	}
	if faults > 0 {
		summary += fmt.Sprintf("; %s", countOf(faults, "error"))
	}
	p.line("%s", summary)
	_, err := w.Write(p.Bytes())
	return err
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
