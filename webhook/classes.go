package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// A ClassReviewer reviews RuntimeClasses as they are created, and as their
// scheduling changes (the handler never does), and as they are deleted.
type ClassReviewer struct {
	Gate *Gate
	// Live lists what may still use a class.
	Live Lister
	// Decided is told of each decision.
	Decided func(*admissionv1.AdmissionRequest, Verdict)
}

// Review implements Reviewer.
func (r *ClassReviewer) Review(ctx context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
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
	case admissionv1.Delete:
		return r.reviewDeletion(ctx, req)
	default:
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	if err := json.Unmarshal(req.Object.Raw, class); err != nil {
		return nil, fmt.Errorf("decode RuntimeClass %q: %w", req.Name, err)
	}
	if req.Operation == admissionv1.Update && equality.Semantic.DeepEqual(class.Scheduling, old.Scheduling) {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	verdict := r.Gate.RuntimeClass(class)
	r.Decided(req, verdict)
	return respond(verdict), nil
}
