package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"

	"github.com/runtimegate/runtimegate/webhook"
)

// TestSARIFSchema holds the SARIF logs of the scripts against the standard's
// schema, and knows that the schema refuses what is none.
func TestSARIFSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/sarif/sarif-2.1.0-rtm.5.json")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(log string) error {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(log))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(value)
	}
	script, err := txtar.ParseFile("testdata/script/lint_ci.txtar")
	if err != nil {
		t.Fatal(err)
	}
	logs := 0
	for _, file := range script.Files {
		if !strings.HasSuffix(file.Name, ".sarif") {
			continue
		}
		logs++
		if err := validate(string(file.Data)); err != nil {
			t.Errorf("%s: %v", file.Name, err)
		}
		for _, spoilt := range []string{`"ruleIndex": "0"`, `"level": "bad"`, `"unknown": 1, "ruleIndex": 0`} {
			key, _, _ := strings.Cut(spoilt, ":")
			if key == `"unknown"` {
				key = `"ruleIndex"`
			}
			at := bytes.Index(file.Data, []byte(key))
			if at < 0 {
				continue
			}
			end := at + bytes.IndexAny(file.Data[at:], ",\n")
			if validate(string(file.Data[:at])+spoilt+string(file.Data[end:])) == nil {
				t.Errorf("%s: the schema takes %s", file.Name, spoilt)
			}
		}
	}
	if logs < 2 {
		t.Errorf("%d SARIF logs in the script", logs)
	}
}

// TestSARIFRules: each condition that lint may tell of has a rule.
func TestSARIFRules(t *testing.T) {
	known := map[string]bool{}
	for _, rule := range sarifRules {
		known[rule.ID] = true
	}
	for _, c := range webhook.Conditions {
		if !known[string(c)] {
			t.Errorf("condition %s has no rule", c)
		}
	}
}

// TestLintPlaces: places are those of manifests of any form; none is
// line 0, which CI systems refuse.
func TestLintPlaces(t *testing.T) {
	dir := t.TempDir()
	cluster := filepath.Join(dir, "cluster.yaml")
	manifest := filepath.Join(dir, "m.yaml")
	if err := os.WriteFile(cluster, []byte("{apiVersion: v1, kind: Node, metadata: {name: n1}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {runtimeClassName: x}}":                                                 "m.yaml:1: Pod/p",
		"\n\n{\"apiVersion\": \"v1\",\n\"kind\": \"Pod\",\n\"metadata\": {\"name\": \"p\"}, \"spec\":\n{\"runtimeClassName\":\n\"x\"}}": "m.yaml:6: Pod/p",
		"--- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {runtimeClassName: x}}":                                             "m.yaml:1: Pod/p",
		"a: &s {runtimeClassName: x}\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: *s\n":                                       "m.yaml:1: Pod/p",
		"\xef\xbb\xbfapiVersion: v1\r\nkind: Pod\r\nmetadata: {name: p}\r\nspec:\r\n  runtimeClassName: x\r\n":                          "m.yaml:5: Pod/p",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  <<: {runtimeClassName: x}\n":                                          "m.yaml:4: Pod/p",
	} {
		if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, err := runCommand(t, "lint", "-f", manifest, "--snapshot", cluster)
		if got := strings.TrimPrefix(stdout, dir+"/"); !strings.HasPrefix(got, want+": Deny: ") {
			t.Errorf("%q: got %q, stderr %q, %v, want %q", text, got, stderr, err, want)
		}
	}
}
