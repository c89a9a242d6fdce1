package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxReviewBytes bounds a request. The API server takes objects of 3 MiB at
// most, and a review holds the old and the new one.
const maxReviewBytes = 7 << 20

// A Reviewer answers admission requests. An error means that it could not make
// sense of the request.
type Reviewer interface {
	Review(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)
}

// A reviewHandler serves a Reviewer over HTTP. What it cannot answer it
// answers with an HTTP error, so that the failurePolicy of the webhook's
// configuration decides: an AdmissionReview that says "not allowed" would deny
// whatever that policy is.
type reviewHandler struct {
	reviewer Reviewer
	ready    func() bool // false: the nodes are not known yet
	took     prometheus.Observer
	log      logr.Logger
}

var _ http.Handler = &reviewHandler{}

func (h *reviewHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error(fmt.Errorf("panic: %v", p), "Review failed", "stack", string(debug.Stack()))
			http.Error(w, "internal error; see the log of runtimegate", http.StatusInternalServerError)
		}
	}()
	review, err := readReview(r)
	if err != nil {
		h.refuse(w, err)
		return
	}
	var response *admissionv1.AdmissionResponse
	if h.ready() {
		started := time.Now()
		response, err = h.reviewer.Review(r.Context(), review.Request)
		h.took.Observe(time.Since(started).Seconds())
	} else {
		response = uncheckedResponse()
	}
	if err != nil {
		h.refuse(w, &httpError{http.StatusBadRequest, err})
		return
	}
	response.UID = review.Request.UID
	answer := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(&answer); err != nil {
		h.log.Error(err, "Answer not sent")
	}
}

func (h *reviewHandler) refuse(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	var he *httpError
	if errors.As(err, &he) {
		code = he.code
	}
	h.log.Info("Request refused", "code", code, "reason", err.Error())
	http.Error(w, err.Error(), code)
}

// An httpError is a fault in a request, and the status code that says so.
type httpError struct {
	code int
	err  error
}

func (e *httpError) Error() string { return e.err.Error() }

func (e *httpError) Unwrap() error { return e.err }

func badRequest(code int, format string, args ...any) error {
	return &httpError{code, fmt.Errorf(format, args...)}
}

// readReview reads a request that holds an AdmissionReview of version v1 with a
// request in it.
func readReview(r *http.Request) (*admissionv1.AdmissionReview, error) {
	if r.Method != http.MethodPost {
		return nil, badRequest(http.StatusMethodNotAllowed, "method %s: want POST", r.Method)
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, badRequest(http.StatusUnsupportedMediaType, "content type %q: want application/json", r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxReviewBytes+1))
	if err != nil {
		return nil, badRequest(http.StatusBadRequest, "read request: %w", err)
	}
	if len(body) > maxReviewBytes {
		return nil, badRequest(http.StatusRequestEntityTooLarge, "request is larger than %d bytes", maxReviewBytes)
	}
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, review); err != nil {
		return nil, badRequest(http.StatusBadRequest, "decode AdmissionReview: %w", err)
	}
	want := metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}
	if review.TypeMeta != want {
		return nil, badRequest(http.StatusBadRequest, "got %q of %q: want %q of %q",
			review.Kind, review.APIVersion, want.Kind, want.APIVersion)
	}
	if review.Request == nil || review.Request.UID == "" {
		return nil, badRequest(http.StatusBadRequest, "AdmissionReview has no request with a uid")
	}
	return review, nil
}

// wantKind checks that a request is about the kind that its path is for: what a
// wrong webhook configuration sends here must not pass for checked.
func wantKind(req *admissionv1.AdmissionRequest, want schema.GroupVersionKind) error {
	if got := schema.GroupVersionKind(req.Kind); got != want {
		return fmt.Errorf("got %s: want %s", got, want)
	}
	return nil
}

// uncheckedResponse lets pass, and says that nothing was checked.
func uncheckedResponse() *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{
		Allowed:  true,
		Warnings: []string{"runtime handlers were not checked: runtimegate has only just started and does not know the nodes yet"},
	}
}

// warn lets pass. If there are warnings, they are all of one condition.
func warn(c Condition, warnings []string) (Verdict, *admissionv1.AdmissionResponse) {
	var verdict Verdict
	if len(warnings) > 0 {
		verdict.Findings = []Finding{{Condition: c, Action: Warn}}
	}
	response := &admissionv1.AdmissionResponse{Allowed: true}
	for _, warning := range warnings {
		response.Warnings = append(response.Warnings, shorten(printable(warning)))
	}
	return verdict, response
}

// respond turns a verdict into an answer.
func respond(verdict Verdict) *admissionv1.AdmissionResponse {
	response := &admissionv1.AdmissionResponse{
		Allowed:          verdict.Action() != Deny,
		Warnings:         verdict.Warnings(),
		AuditAnnotations: verdict.AuditAnnotations(),
	}
	if !response.Allowed {
		response.Result = &metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    http.StatusForbidden,
			Reason:  metav1.StatusReasonForbidden,
			Message: verdict.Denial(),
		}
	}
	return response
}
