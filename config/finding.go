package config

import (
	"cmp"
	"slices"
)

// Severity is how much harm a finding does.
type Severity string

// The severities.
const (
	// SeverityError: Pods fail, or will after the next start of the runtime.
	SeverityError Severity = "Error"
	// SeverityWarning: something written does not do what it looks like.
	SeverityWarning Severity = "Warning"
	// SeverityInfo: good to know, nothing to mend.
	SeverityInfo Severity = "Info"
)

var severityOrder = map[Severity]int{SeverityError: 0, SeverityWarning: 1, SeverityInfo: 2}

// A Finding is something that is wrong, or about to go wrong.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Handler  string   `json:"handler,omitempty"`
	Message  string   `json:"message"`
	Fix      string   `json:"fix,omitempty"`
}

// SortFindings sorts the most severe first, and among equals by place.
func SortFindings(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(severityOrder[a.Severity], severityOrder[b.Severity]),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Handler, b.Handler),
		)
	})
}
