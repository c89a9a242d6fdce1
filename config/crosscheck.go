package config

import (
	"slices"
	"strings"
)

// A Source answers for the handlers of one node: a Dump, or the Status of a
// running runtime.
type Source interface {
	// Look says whether the source has the handler; for Unknown also why.
	Look(name string) (Presence, string)
	// Names returns the handlers that it has, sorted.
	Names() []string
}

// A Want is a handler that somebody asks for.
type Want struct {
	Handler string
	// By names who asks, for messages: `RuntimeClass "gpu" (a.yaml:3)`.
	By string
}

// A Lack is a handler that a source does not have, or may not have.
type Lack struct {
	Handler string
	// By are those who ask, sorted and without repetition.
	By []string
	// Why is the reason for which it cannot be told; empty for a Lack that
	// is proven.
	Why string
	// Nearest is a handler of the source with a name much like it, if any.
	Nearest string
}

// Crosscheck compares what is wanted with what a source has. Missing are the
// handlers that it provably lacks, unknown those of which it cannot be told;
// both are sorted by handler.
func Crosscheck(source Source, wants []Want) (missing, unknown []Lack) {
	by := map[string][]string{}
	for _, w := range wants {
		by[w.Handler] = append(by[w.Handler], w.By)
	}
	names := source.Names()
	for handler, who := range by {
		presence, why := source.Look(handler)
		if presence == Present {
			continue
		}
		slices.Sort(who)
		lack := Lack{Handler: handler, By: slices.Compact(who), Why: why, Nearest: Nearest(handler, names)}
		if presence == Absent {
			missing = append(missing, lack)
		} else {
			unknown = append(unknown, lack)
		}
	}
	byHandler := func(a, b Lack) int { return strings.Compare(a.Handler, b.Handler) }
	slices.SortFunc(missing, byHandler)
	slices.SortFunc(unknown, byHandler)
	return missing, unknown
}

var _ Source = &Dump{}
