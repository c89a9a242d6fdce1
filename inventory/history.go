package inventory

import (
	"slices"
	"time"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A runtime that is started stormStarts times within stormTime is in a storm.
const (
	stormStarts = 5
	stormTime   = 10 * time.Minute
)

// history reports what shows only beside what was reported before.
func (l *live) history() {
	if n := len(l.Starts); n >= stormStarts {
		l.add(v1alpha1.FindingRestartStorm, v1alpha1.SeverityWarning, config.Place{}, "",
			"%s was started %d times within 10 minutes, the last that answered at %s: see why in its log", l.Loaded.RuntimeName, n, l.Starts[n-1].UTC().Format(time.RFC3339))
	}
	if l.Before == nil || l.Before.Source != v1alpha1.SourceCRI {
		return
	}
	// What was lost counts until the next start: who starts the runtime once more
	// without it does not miss it.
	same := l.Before.Runtime.StartedAt.Equal(l.spec.Runtime.StartedAt)
	reloaded := same && l.Loaded.RuntimeName == config.CRIO
	for _, name := range had(l.Before, same) {
		if _, ok := l.Loaded.Handler(name); ok {
			continue
		}
		if reloaded {
			// It goes on with the handlers that it had at its start (cri-o#10202).
			l.add(v1alpha1.FindingHandlerUnconfirmed, v1alpha1.SeverityWarning, config.Place{}, name,
				"handler %q is not listed by cri-o any more since it has read its files anew; the next restart of cri-o takes it away, if it has not gone yet", name)
			continue
		}
		l.handlerLost(name)
	}
	if !reloaded || len(l.Before.Handlers) == 0 {
		return
	}
	confirmed := namesOf(l.Before.Handlers)
	for _, name := range handlersWith(l.Before, v1alpha1.FindingHandlerUnconfirmed) {
		confirmed = slices.DeleteFunc(confirmed, func(n string) bool { return n == name })
	}
	for _, h := range l.spec.Handlers {
		if !slices.Contains(confirmed, h.Name) {
			l.add(v1alpha1.FindingHandlerUnconfirmed, v1alpha1.SeverityWarning, config.Place{}, h.Name,
				"handler %q is listed by cri-o since it has read its files anew, which is no proof that it can run it: restart cri-o", h.Name)
		}
	}
}

// had are the handlers that a report has or, of the same start, misses.
func had(spec *v1alpha1.NodeRuntimeSpec, same bool) []string {
	names := namesOf(spec.Handlers)
	if same {
		names = append(names, handlersWith(spec, v1alpha1.FindingHandlerLost)...)
		for _, name := range handlersWith(spec, v1alpha1.FindingHandlerUnconfirmed) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func namesOf(handlers []v1alpha1.Handler) (names []string) {
	for i := range handlers {
		names = append(names, handlers[i].Name)
	}
	return names
}

// handlersWith are the handlers of which a report has that finding.
func handlersWith(spec *v1alpha1.NodeRuntimeSpec, code string) (names []string) {
	for i := range spec.Findings {
		if f := &spec.Findings[i]; f.Code == code && f.Handler != "" {
			names = append(names, f.Handler)
		}
	}
	return names
}

func (l *live) handlerLost(name string) {
	at, why, remedy := l.lost(name)
	remedy += " and "
	switch {
	case l.Next == nil:
		at, why, remedy = config.Place{}, "what its files say is not known", "check them and "
	case l.spec.Next != nil && slices.Contains(l.spec.Next.Handlers, name):
		why, remedy = "its files define it again", ""
	}
	since := ""
	if started := l.spec.Runtime.StartedAt; started != nil {
		since = " at " + started.UTC().Format(time.RFC3339)
	}
	l.add(v1alpha1.FindingHandlerLost, v1alpha1.SeverityError, at, name,
		"handler %q was loaded before the last start of %s%s, and is not any more: %s; %srestart %s",
		name, l.Loaded.RuntimeName, since, why, remedy, l.Loaded.RuntimeName)
}
