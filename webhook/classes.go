package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/runtimegate/runtimegate/inventory"
)

// A ClassReviewer reviews RuntimeClasses as they are created, and as their
// scheduling changes (the handler never does).
type ClassReviewer struct {
	Index *inventory.Index
	// Missing is what to do about a class whose handler no node has.
	Missing Action
	Now     func() time.Time
	// Decided is told of each verdict.
	Decided func(Verdict)
}

// Review implements Reviewer.
func (r *ClassReviewer) Review(_ context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	if err := wantKind(req, nodev1.SchemeGroupVersion.WithKind("RuntimeClass")); err != nil {
		return nil, err
	}
	class, old := &nodev1.RuntimeClass{}, &nodev1.RuntimeClass{}
	switch req.Operation {
	case admissionv1.Create:
	case admissionv1.Update:
		if err := json.Unmarshal(req.OldObject.Raw, old); err != nil {
			return nil, fmt.Errorf("decode old RuntimeClass %q: %w", req.Name, err)
		}
	default:
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	if err := json.Unmarshal(req.Object.Raw, class); err != nil {
		return nil, fmt.Errorf("decode RuntimeClass %q: %w", req.Name, err)
	}
	if req.Operation == admissionv1.Update && equality.Semantic.DeepEqual(class.Scheduling, old.Scheduling) {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	verdict := JudgeClass(r.facts(class), r.Missing)
	r.Decided(verdict)
	return respond(verdict), nil
}

func (r *ClassReviewer) facts(class *nodev1.RuntimeClass) ClassFacts {
	scheduling := class.Scheduling
	if scheduling == nil {
		scheduling = &nodev1.Scheduling{}
	}
	now := r.Now()
	selected := inventory.ClassPlacement(scheduling.NodeSelector, nil, true)
	tolerated := inventory.ClassPlacement(scheduling.NodeSelector, scheduling.Tolerations, false)
	return ClassFacts{
		Ask:       askOf(class),
		Selected:  r.Index.Coverage(selected, class.Handler, now),
		Tolerated: r.Index.Coverage(tolerated, class.Handler, now),
		Selects:   len(scheduling.NodeSelector) > 0,
		Known:     r.Index.Loaded(now),
	}
}

// askOf returns what a RuntimeClass asks for.
func askOf(class *nodev1.RuntimeClass) Ask {
	return Ask{
		Handler:  class.Handler,
		Class:    class.Name,
		OnDemand: class.Annotations[OnDemandAnnotation] == "true",
	}
}
