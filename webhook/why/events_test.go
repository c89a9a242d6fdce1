package why

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory/fleet"
)

// TestReadEvents: the newest come first, what is said again is left out, and what
// says nothing of handlers is, too.
func TestReadEvents(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)) }
	event := func(minute int, message, host string) corev1.Event {
		return corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p"}, Reason: "FailedCreatePodSandBox", Message: message,
			Source: corev1.EventSource{Host: host}, LastTimestamp: at(minute), Count: int32(minute),
		}
	}
	series := event(0, `no runtime for "series" is configured`, "n")
	series.LastTimestamp = metav1.Time{}
	series.Series = &corev1.EventSeries{Count: 9, LastObservedTime: metav1.NewMicroTime(at(30).Time)}
	pulled := event(50, "Pulled", "n")
	pulled.Reason = "Pulled"
	a := &asker{answer: &Answer{}, fleet: &fleet.Fleet{}, Question: Question{Events: []corev1.Event{
		event(1, `no runtime for "old" is configured`, "n"), event(10, `no runtime for "a" is configured`, "n"), pulled,
		event(20, `no runtime for "a" is configured`, "n"), series, event(5, `no runtime for "a" is configured`, "m"),
		event(3, "failed to setup network", "n"), event(2, "container.Runtime.Name must be set", "n"),
	}}}
	a.readEvents()
	var got []string
	for _, e := range a.answer.Events {
		got = append(got, fmt.Sprint(e.Time.Minute(), " ", e.On, " ", e.Node, " ", e.Cause, " ", e.Count))
	}
	want := []string{"30 pod/p n NotLoaded 9", "20 pod/p n NotLoaded 20", "5 pod/p m NotLoaded 5", "3 pod/p n Elsewhere 3", "2 pod/p n TypeMissing 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if len(a.meanings) != len(got) {
		t.Errorf("%d meanings of %d Events", len(a.meanings), len(got))
	}
}

// TestIsFurther: a container that fails again and again has Events of its image in
// between, and those of another container say nothing of it.
func TestIsFurther(t *testing.T) {
	event := func(minute int, reason, pod, container string) *corev1.Event {
		return &corev1.Event{
			Reason: reason, LastTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)),
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: pod, FieldPath: container},
		}
	}
	for name, tt := range map[string]struct {
		later, before *corev1.Event
		want          bool
	}{
		"bound after it could not be":           {event(2, "Scheduled", "p", ""), event(1, "FailedScheduling", "p", ""), true},
		"an image after the sandbox":            {event(2, "Pulling", "p", "c"), event(1, "FailedCreatePodSandBox", "p", ""), true},
		"the sandbox failed afterwards":         {event(1, "Started", "p", "c"), event(2, "FailedCreatePodSandBox", "p", ""), false},
		"the image is looked at again":          {event(2, "Pulled", "p", "c"), event(1, "Failed", "p", "c"), false},
		"the container starts":                  {event(2, "Started", "p", "c"), event(1, "Failed", "p", "c"), true},
		"another container starts":              {event(2, "Started", "p", "d"), event(1, "Failed", "p", "c"), false},
		"another Pod is further":                {event(2, "Started", "q", "c"), event(1, "FailedCreatePodSandBox", "p", ""), false},
		"nobody knows how far that one was":     {event(2, "Started", "p", "c"), event(1, "FailedMount", "p", ""), false},
		"a reason that says nothing comes next": {event(2, "Killing", "p", "c"), event(1, "FailedCreatePodSandBox", "p", ""), false},
	} {
		if got := isFurther(tt.later, tt.before); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
