package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory"
)

type reviewFunc func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)

func (f reviewFunc) Review(_ context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	return f(req)
}

func yes(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	return &admissionv1.AdmissionResponse{Allowed: true}, nil
}

const goodReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","operation":"CREATE"}}`

func post(h http.Handler, method, contentType, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "/", strings.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder
}

// What cannot be answered gets an HTTP error: an AdmissionReview that says
// "not allowed" would deny even with failurePolicy Ignore.
func TestReviewHandlerRefuses(t *testing.T) {
	tests := []struct {
		name, method, contentType, body string
		review                          reviewFunc
		code                            int
		text                            string
	}{
		{"no body", "POST", "application/json", "", yes, 400, "decode AdmissionReview"},
		{"no JSON", "POST", "application/json", "\x00\x01", yes, 400, "decode AdmissionReview"},
		{"cut short", "POST", "application/json", goodReview[:40], yes, 400, "decode AdmissionReview"},
		{"another kind", "POST", "application/json", `{"apiVersion":"v1","kind":"Pod"}`, yes, 400, `got "Pod" of "v1"`},
		{"the old version", "POST", "application/json", strings.Replace(goodReview, "/v1", "/v1beta1", 1), yes, 400, "v1beta1"},
		{"no request", "POST", "application/json", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, yes, 400, "no request"},
		{"no uid", "POST", "application/json", strings.Replace(goodReview, "u1", "", 1), yes, 400, "no request with a uid"},
		{"GET", "GET", "application/json", goodReview, yes, 405, "want POST"},
		{"protobuf", "POST", "application/vnd.kubernetes.protobuf", goodReview, yes, 415, "want application/json"},
		{"too large", "POST", "application/json", goodReview + strings.Repeat(" ", maxReviewBytes), yes, 413, "larger than"},
		{"an object that is no Pod", "POST", "application/json", goodReview, func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			return nil, errors.New("decode Pod")
		}, 400, "decode Pod"},
		{"a panic", "POST", "application/json", goodReview, func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
			panic("secret")
		}, 500, "internal error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handler := &reviewHandler{reviewer: tt.review, ready: func() bool { return true }, took: untimed, log: logr.Discard()}
			got := post(handler, tt.method, tt.contentType, tt.body)
			if got.Code != tt.code || !strings.Contains(got.Body.String(), tt.text) || strings.Contains(got.Body.String(), "secret") {
				t.Errorf("%d %s; want %d with %q", got.Code, got.Body, tt.code, tt.text)
			}
		})
	}
}

func answer(t *testing.T, recorder *httptest.ResponseRecorder) *admissionv1.AdmissionResponse {
	t.Helper()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(recorder.Body).Decode(&review); err != nil || recorder.Code != 200 {
		t.Fatalf("%d: %v", recorder.Code, err)
	}
	if review.Kind != "AdmissionReview" || review.APIVersion != "admission.k8s.io/v1" || review.Request != nil {
		t.Errorf("answer: %+v", review)
	}
	return review.Response
}

func TestReviewHandlerAnswers(t *testing.T) {
	handler := &reviewHandler{reviewer: reviewFunc(yes), ready: func() bool { return true }, took: untimed, log: logr.Discard()}
	response := answer(t, post(handler, "POST", "application/json; charset=utf-8", goodReview))
	if !response.Allowed || response.UID != "u1" || response.Warnings != nil {
		t.Errorf("answer: %+v", response)
	}
}

func TestReviewHandlerBeforeItKnowsTheNodes(t *testing.T) {
	handler := &reviewHandler{reviewer: reviewFunc(func(*admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
		panic("judged without knowing the nodes")
	}), ready: func() bool { return false }, took: untimed, log: logr.Discard()}
	response := answer(t, post(handler, "POST", "application/json", goodReview))
	if !response.Allowed || response.UID != "u1" || len(response.Warnings) != 1 || !strings.Contains(response.Warnings[0], "not checked") {
		t.Errorf("answer: %+v", response)
	}
}

// FuzzReviewHandler: whatever is sent, the server answers and does not panic.
func FuzzReviewHandler(f *testing.F) {
	index := inventory.NewIndex(inventory.DefaultOptions)
	index.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{
		RuntimeHandlers: []corev1.NodeRuntimeHandler{{Name: "runc"}}}})
	class := func(context.Context, string) (*nodev1.RuntimeClass, error) {
		return &nodev1.RuntimeClass{Handler: "h"}, nil
	}
	gate := &Gate{Rules: noRules, MaxAction: Deny, Index: index, Now: time.Now, Class: class, LiveClass: class}
	reviewer := &PodReviewer{Gate: gate, Decided: undecided}
	handler := &reviewHandler{reviewer: reviewer, ready: func() bool { return true }, took: untimed, log: logr.Discard()}
	pod := `{"spec":{"runtimeClassName":"c","nodeSelector":{"a":"b"},"tolerations":[{"operator":"Gt","value":"x"}],"containers":[{"resources":{"requests":{"cpu":"1"}}}],` +
		`"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}]}}}}}`
	f.Add([]byte(strings.Replace(goodReview, `"CREATE"`, `"CREATE","kind":{"version":"v1","kind":"Pod"},"object":`+pod, 1)))
	f.Add([]byte(goodReview))
	f.Fuzz(func(t *testing.T, body []byte) {
		request := httptest.NewRequest("POST", "/", bytes.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code == http.StatusInternalServerError {
			t.Errorf("panic on %q", body)
		}
	})
}
