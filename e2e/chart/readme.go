package chart

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed readme.md
var readmeHead string

// README is the chart's README.md.
func README(values []Value) string {
	var b strings.Builder
	b.WriteString(readmeHead)
	table(&b, values, "##")
	return b.String()
}

// table lists values, and then each group of values under a heading.
func table(b *strings.Builder, values []Value, heading string) {
	var groups []Value
	for _, v := range values {
		if len(v.Inner) > 0 {
			groups = append(groups, v)
			continue
		}
		if !strings.HasSuffix(b.String(), "|\n") {
			b.WriteString("\n| value | default | |\n|---|---|---|\n")
		}
		fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", v.Path, v.Default, strings.ReplaceAll(v.About, "|", `\|`))
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n%s %s\n", heading, g.Path)
		if g.About != "" {
			fmt.Fprintln(b, g.About)
		}
		table(b, g.Inner, heading+"#")
	}
}
