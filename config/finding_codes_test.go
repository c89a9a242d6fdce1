package config

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// A code that is not among Codes would be counted as an unknown one.
func TestCodesAreComplete(t *testing.T) {
	source, err := os.ReadFile("finding.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, match := range regexp.MustCompile(`(?m)^\tCode\w+ += "(\w+)"$`).FindAllStringSubmatch(string(source), -1) {
		all = append(all, match[1])
	}
	slices.Sort(all)
	if got := slices.Sorted(slices.Values(Codes)); len(all) == 0 || !slices.Equal(got, all) {
		t.Errorf("Codes: %q\nwant: %q", got, all)
	}
}
