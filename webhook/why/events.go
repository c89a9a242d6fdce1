package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/webhook/kubeletevents"
)

// maxEvents is how many Events an answer has: those of a Pod that does not start
// repeat themselves.
const maxEvents = 5

// readEvents keeps the Events that say something, the newest first, and of those
// that say the same the newest.
func (a *asker) readEvents() {
	told := map[string]bool{}
	slices.SortStableFunc(a.Events, func(x, y corev1.Event) int { return timeOf(&y).Compare(timeOf(&x)) })
	for i := range a.Events {
		e := &a.Events[i]
		meaning := kubeletevents.Of(e.Reason, e.Message, a.endpointOf(e))
		if meaning == nil || len(a.answer.Events) == maxEvents {
			continue
		}
		event := Event{
			Time: timeOf(e).UTC(), On: strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name, Node: e.Source.Host,
			Reason: e.Reason, Message: strings.TrimSpace(e.Message), Count: int(max(e.Count, 1)),
			Cause: string(meaning.Cause), By: meaning.By, Meaning: meaning.String(),
			Past: a.isPast(e, meaning),
		}
		if e.Series != nil {
			event.Count = int(e.Series.Count)
		}
		// What is past hides nothing that is not.
		if key := fmt.Sprint(event.Cause, meaning.Handler, meaning.Program, meaning.Socket, event.Node, event.Past); !told[key] {
			told[key] = true
			a.answer.Events = append(a.answer.Events, event)
			a.meanings = append(a.meanings, meaning)
		}
	}
}

// timeOf is when an Event was last seen.
func timeOf(e *corev1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	return cmp.Or(e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
}
