package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

// A PodReviewer reviews Pods as they are created.
type PodReviewer struct {
	Gate *Gate
	// Decided is told of each decision.
	Decided func(*admissionv1.AdmissionRequest, Verdict)
}

// Review implements Reviewer.
func (r *PodReviewer) Review(ctx context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	if req.Operation != admissionv1.Create || req.SubResource != "" {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	if err := wantKind(req, corev1.SchemeGroupVersion.WithKind("Pod")); err != nil {
		return nil, err
	}
	pod, ok := req.Object.Object.(*corev1.Pod) // decodePodReview
	if !ok {
		pod = &corev1.Pod{}
		if err := json.Unmarshal(req.Object.Raw, pod); err != nil {
			return nil, fmt.Errorf("decode Pod %q in namespace %q: %w", req.Name, req.Namespace, err)
		}
	}
	verdict := r.Gate.Pod(ctx, req.Namespace, pod)
	r.Decided(req, verdict)
	return respond(verdict), nil
}
