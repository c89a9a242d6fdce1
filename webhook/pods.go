package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory"
)

// A PodReviewer reviews Pods as they are created. A Pod arrives with the
// scheduling and overhead of its RuntimeClass merged into it by the API
// server's RuntimeClass admission.
type PodReviewer struct {
	Index *inventory.Index
	// Class finds a RuntimeClass by name. It has asked the API server before it
	// says that there is none.
	Class func(ctx context.Context, name string) (*nodev1.RuntimeClass, error)
	// LiveClass asks the API server. It is called before a Pod is denied.
	LiveClass func(ctx context.Context, name string) (*nodev1.RuntimeClass, error)
	Now       func() time.Time
	// Decided is told of each verdict.
	Decided func(Verdict)
}

// Review implements Reviewer.
func (r *PodReviewer) Review(ctx context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	if req.Operation != admissionv1.Create || req.SubResource != "" {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	if err := wantKind(req, corev1.SchemeGroupVersion.WithKind("Pod")); err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(req.Object.Raw, pod); err != nil {
		return nil, fmt.Errorf("decode Pod %q in namespace %q: %w", req.Name, req.Namespace, err)
	}
	verdict := r.judge(ctx, pod)
	r.Decided(verdict)
	return respond(verdict), nil
}

// judge judges a Pod. A handler cannot be changed, so that a class is mended by
// deleting it and making it anew, often in one go with its Pods: before a
// denial the class is read live, since the cache may have the one before.
func (r *PodReviewer) judge(ctx context.Context, pod *corev1.Pod) Verdict {
	verdict, cached := r.judgeBy(ctx, pod, r.Class)
	if cached == nil || verdict.Action() != Deny {
		return verdict
	}
	verdict, _ = r.judgeBy(ctx, pod, r.LiveClass)
	return verdict
}

// judgeBy judges a Pod by the class that a look-up finds, and returns both.
func (r *PodReviewer) judgeBy(ctx context.Context, pod *corev1.Pod, find func(context.Context, string) (*nodev1.RuntimeClass, error)) (Verdict, *nodev1.RuntimeClass) {
	facts := PodFacts{Lenient: leniency(pod)}
	var class *nodev1.RuntimeClass
	var unread *Finding
	if name := pod.Spec.RuntimeClassName; name != nil && *name != "" {
		found, err := find(ctx, *name)
		if err != nil {
			unread = tellUnread(*name, err)
		} else {
			class = found
			facts.Asks = append(facts.Asks, r.ask(pod, askOf(class)))
		}
	}
	if pod.Annotations[UntrustedAnnotation] == "true" {
		facts.Asks = append(facts.Asks, r.ask(pod, Ask{Handler: UntrustedHandler}))
	}
	verdict := JudgePod(facts)
	verdict.add(unread)
	return verdict, class
}

func (r *PodReviewer) ask(pod *corev1.Pod, ask Ask) PodAsk {
	now := r.Now()
	return PodAsk{
		Ask:      ask,
		Coverage: r.Index.Coverage(inventory.PlacementOf(pod), ask.Handler, now),
		Known:    r.Index.Loaded(now),
	}
}

// tellUnread makes the finding for a class that could not be read. That there
// is none is the API server's to say: its RuntimeClass admission rejects such
// Pods before they come here, if it is on.
func tellUnread(class string, err error) *Finding {
	message := fmt.Sprintf("RuntimeClass %q could not be read, so its handler was not checked: %v", class, err)
	if apierrors.IsNotFound(err) {
		message = fmt.Sprintf("RuntimeClass %q does not exist, so there is no handler to check", class)
	}
	return &Finding{Condition: Unknown, Action: Warn, Message: shorten(message), Detail: message}
}

// leniency says why a Pod is not denied for what its nodes lack.
func leniency(pod *corev1.Pod) Leniency {
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return Mirror
	}
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" && strings.HasPrefix(owner.APIVersion, "apps/") {
		return OfDaemonSet
	}
	// The two built-in priority classes (scheduling.k8s.io, since 1.11).
	if name := pod.Spec.PriorityClassName; name == "system-node-critical" || name == "system-cluster-critical" {
		return Critical
	}
	return Strict
}
