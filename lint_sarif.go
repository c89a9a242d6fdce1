package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/webhook"
)

// What of SARIF 2.1.0 code scanning reads; the names are the standard's.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

const (
	sarifSchema = "https://json.schemastore.org/sarif-2.1.0.json"
	projectURI  = "https://github.com/runtimegate/runtimegate"
)

// sarifRules say what the conditions are.
var sarifRules = []sarifRule{
	{string(webhook.Missing), sarifText{"No node that the Pod may land on has loaded the handler."}},
	{string(webhook.Partial), sarifText{"Some nodes that the Pod may land on lack the handler."}},
	{string(webhook.Unknown), sarifText{"It is not known whether a node that the Pod may land on has what it needs."}},
	{string(webhook.Broken), sarifText{"On every node that has the handler no Pod of it can start: its shim or OCI runtime is missing, or it has no runtime_type."}},
	{string(webhook.Expiring), sarifText{"The next restart of a node's runtime takes the handler away."}},
	{string(webhook.Forbidden), sarifText{"A RuntimePolicy does not allow the handler in this namespace."}},
	{string(webhook.Oversized), sarifText{"With the overhead of its RuntimeClass the Pod fits no node that has the handler."}},
	{string(webhook.FeatureMissing), sarifText{"No node that has the handler offers a feature that the Pod needs."}},
	{string(webhook.Rejected), sarifText{"The API server rejects the object, or the Pods that it makes."}},
}

var sarifLevels = map[lintLevel]string{levelError: "error", levelWarning: "warning", levelNote: "note"}

// sarif prints a SARIF log for code scanning. What could not be read is a
// notification of the tool and not a result.
func (o *lintOutput) sarif(w io.Writer) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "runtimegate", Version: thisBuild().Version, InformationURI: projectURI, Rules: sarifRules}
	invocation := sarifInvocation{ExecutionSuccessful: len(o.faults) == 0}
	for _, f := range o.findings() {
		if f.object == nil {
			n := sarifNotification{Level: "error", Message: sarifText{f.message}}
			if f.place.File != "" {
				n.Locations = []sarifLocation{sarifAt(f.place)}
			}
			invocation.Notifications = append(invocation.Notifications, n)
			continue
		}
		at := sarifAt(f.place)
		name := strings.TrimPrefix(f.object.Object.Namespace+"/"+f.object.Object.Kind+"/"+f.object.Object.Name, "/")
		at.Logical = []sarifLogical{{FullyQualifiedName: name, Kind: "resource"}}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.rule, RuleIndex: slices.IndexFunc(sarifRules, func(r sarifRule) bool { return r.ID == f.rule }),
			Level: sarifLevels[f.level], Message: sarifText{f.message}, Locations: []sarifLocation{at},
			Fingerprints: map[string]string{"objectCondition/v1": fingerprint(f.place.Source, f.place.File, name, f.rule)},
		})
	}
	run.Invocations = []sarifInvocation{invocation}
	return writeJSON(w, sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

// sarifAt is a place as SARIF has it: of what a template made, the template,
// whose lines are not those that were read.
func sarifAt(at lintPlace) (l sarifLocation) {
	file := at.File
	if at.Source != "" {
		file = at.Source
	} else if at.Line > 0 {
		l.Physical.Region = &sarifRegion{StartLine: at.Line, StartColumn: at.Column}
	}
	uri := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		uri.Scheme = "file"
	}
	l.Physical.Artifact.URI = uri.String()
	return l
}

// fingerprint stays the same when lines move.
func fingerprint(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}
