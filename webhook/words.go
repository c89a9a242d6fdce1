package webhook

import (
	"fmt"
	"strings"

	"github.com/runtimegate/runtimegate/inventory"
)

// named adds the first few names to a message, if they leave room for more than
// them.
func named(point string, names []string) string {
	for n := min(len(names), inventory.SampleSize); n > 0; n-- {
		sample := strings.Join(names[:n], ", ")
		if more := len(names) - n; more > 0 {
			sample += fmt.Sprintf(" and %d more", more)
		}
		if len(point)+len(sample) <= MaxWarning-60 {
			return fmt.Sprintf("%s (%s)", point, sample)
		}
	}
	return point
}

func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// called names an object, but not by a name so long that it pushes the point
// out of a warning.
func called(kind, name string) string {
	const enough = 40
	if len(name) > enough {
		return "the " + kind
	}
	return fmt.Sprintf("%s %q", kind, name)
}
