package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"sync"
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

// reviewType is that of requests and answers.
var reviewType = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}

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
	// decode decodes a review in less time than encoding/json, or returns nil for
	// one that is to be left to that. It may be nil itself.
	decode func(body []byte) *admissionv1.AdmissionReview
	ready  func() bool // false: the nodes are not known yet
	took   prometheus.Observer
	log    logr.Logger
}

var _ http.Handler = &reviewHandler{}

func (h *reviewHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error(fmt.Errorf("panic: %v", p), "Review failed", "stack", string(debug.Stack()))
			http.Error(w, "internal error; see the log of runtimegate", http.StatusInternalServerError)
		}
	}()
	review, err := h.read(r)
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
	h.answer(w, response)
}

// jsonContent is the content type of an answer.
var jsonContent = []string{"application/json"}

func (h *reviewHandler) answer(w http.ResponseWriter, response *admissionv1.AdmissionResponse) {
	buffer := getBuffer()
	defer putBuffer(buffer)
	if isPlain(response) {
		buffer.WriteString(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"`)
		buffer.WriteString(string(response.UID))
		buffer.WriteString(`","allowed":true}}` + "\n")
	} else if err := json.NewEncoder(buffer).Encode(&admissionv1.AdmissionReview{TypeMeta: reviewType, Response: response}); err != nil {
		h.log.Error(err, "Answer not encoded")
		http.Error(w, "internal error; see the log of runtimegate", http.StatusInternalServerError)
		return
	}
	w.Header()["Content-Type"] = jsonContent
	if _, err := w.Write(buffer.Bytes()); err != nil {
		h.log.Error(err, "Answer not sent")
	}
}

// isPlain says whether an answer is the usual one: yes, and no more to say. Its
// uid is written as it is.
func isPlain(r *admissionv1.AdmissionResponse) bool {
	if !r.Allowed || len(r.Warnings) > 0 || len(r.AuditAnnotations) > 0 || r.Result != nil || r.Patch != nil || r.PatchType != nil {
		return false
	}
	for _, c := range []byte(r.UID) {
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// A buffer holds what a request is read into, or an answer is made in.
type buffer struct {
	bytes.Buffer
	body io.LimitedReader
}

var buffers = sync.Pool{New: func() any { return &buffer{} }}

func getBuffer() *buffer { return buffers.Get().(*buffer) }

// putBuffer keeps a buffer for the next request, but for one that few need.
func putBuffer(b *buffer) {
	const keep = 256 << 10
	b.body.R = nil
	if b.Cap() <= keep {
		b.Reset()
		buffers.Put(b)
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

// read reads a request that holds an AdmissionReview of version v1 with a request
// in it.
func (h *reviewHandler) read(r *http.Request) (*admissionv1.AdmissionReview, error) {
	if r.Method != http.MethodPost {
		return nil, badRequest(http.StatusMethodNotAllowed, "method %s: want POST", r.Method)
	}
	content := r.Header.Get("Content-Type")
	if content != jsonContent[0] {
		if media, _, err := mime.ParseMediaType(content); err != nil || media != jsonContent[0] {
			return nil, badRequest(http.StatusUnsupportedMediaType, "content type %q: want application/json", content)
		}
	}
	// What is decoded holds nothing of the body.
	body := getBuffer()
	defer putBuffer(body)
	body.body = io.LimitedReader{R: r.Body, N: maxReviewBytes + 1}
	if _, err := body.ReadFrom(&body.body); err != nil {
		return nil, badRequest(http.StatusBadRequest, "read request: %w", err)
	}
	if body.Len() > maxReviewBytes {
		return nil, badRequest(http.StatusRequestEntityTooLarge, "request is larger than %d bytes", maxReviewBytes)
	}
	review, err := h.decoded(body.Bytes())
	if err != nil {
		return nil, badRequest(http.StatusBadRequest, "decode AdmissionReview: %w", err)
	}
	if review.TypeMeta != reviewType {
		return nil, badRequest(http.StatusBadRequest, "got %q of %q: want %q of %q",
			review.Kind, review.APIVersion, reviewType.Kind, reviewType.APIVersion)
	}
	if review.Request == nil || review.Request.UID == "" {
		return nil, badRequest(http.StatusBadRequest, "AdmissionReview has no request with a uid")
	}
	return review, nil
}

func (h *reviewHandler) decoded(body []byte) (*admissionv1.AdmissionReview, error) {
	if h.decode != nil {
		if review := h.decode(body); review != nil {
			return review, nil
		}
	}
	review := &admissionv1.AdmissionReview{}
	return review, json.Unmarshal(body, review)
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
