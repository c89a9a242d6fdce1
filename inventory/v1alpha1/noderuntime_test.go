package v1alpha1

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// A code that is not among FindingCodes would be counted as an unknown one.
func TestFindingCodesAreComplete(t *testing.T) {
	source, err := os.ReadFile("noderuntime.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, match := range regexp.MustCompile(`(?m)^\tFinding\w+ += "(\w+)"$`).FindAllStringSubmatch(string(source), -1) {
		all = append(all, match[1])
	}
	slices.Sort(all)
	if got := slices.Sorted(slices.Values(FindingCodes)); len(all) == 0 || !slices.Equal(got, all) {
		t.Errorf("FindingCodes: %q\nwant: %q", got, all)
	}
}
