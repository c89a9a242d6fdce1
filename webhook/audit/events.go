package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Component is the source of the Events.
const Component = "runtimegate"

// maxNote is the length of an Event's message in bytes: events.k8s.io/v1, as
// which the same Event can be read, allows no more.
const maxNote = 1024

// An eventWriter writes Events. One is named after what it tells, so that any
// number of replicas, and those that come after them, tell it once: until the API
// server forgets the Event, after an hour by default.
type eventWriter struct {
	client client.Client
	// limit keeps a change that concerns thousands from flooding the API server.
	limit *rate.Limiter
	log   logr.Logger
}

func newEventWriter(c client.Client, log logr.Logger) *eventWriter {
	return &eventWriter{client: c, limit: rate.NewLimiter(10, 100), log: log}
}

// warn writes an Event of type Warning on an object. That of one without a
// namespace stands in the namespace default, as those of other components do.
// about is what tells this Event from others of that reason on the object.
func (w *eventWriter) warn(ctx context.Context, on corev1.ObjectReference, reason, note string, about ...string) error {
	about = append([]string{string(on.UID), reason}, about...)
	sum := sha256.Sum256([]byte(strings.Join(about, "\x00")))
	name := fmt.Sprintf("%s.%x", strings.TrimRight(fmt.Sprintf("%.200s", on.Name), "-."), sum[:8])
	if err := w.limit.Wait(ctx); err != nil {
		return err
	}
	now := metav1.Now()
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: cmp.Or(on.Namespace, metav1.NamespaceDefault), Name: name},
		InvolvedObject: on,
		Type:           corev1.EventTypeWarning,
		Reason:         reason,
		Message:        cut(note, maxNote),
		Source:         corev1.EventSource{Component: Component},
		FirstTimestamp: now,
		LastTimestamp:  now,
		Count:          1,
	}
	switch err := w.client.Create(ctx, event); {
	case err == nil || apierrors.IsAlreadyExists(err):
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err):
		// As in a namespace that is being deleted: another try would be no better.
		w.log.Info("An Event was refused", "kind", on.Kind, "namespace", on.Namespace, "name", on.Name, "reason", reason, "error", err.Error())
	default:
		return fmt.Errorf("write the Event %s on %s %q: %w", reason, on.Kind, on.Name, err)
	}
	return nil
}

// cut shortens a text to at most that many bytes, at the end of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
