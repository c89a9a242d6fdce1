package webhook

import (
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// decodePodReview decodes a review of a Pod, and of the Pod only what a verdict
// depends on: decoding all of it takes many times as long as the verdict. The
// request's Object.Object is a *corev1.Pod with just those fields set.
//
// It returns nil for what is not plainly JSON as the API server writes it, with a
// name that occurs twice in an object for example: encoding/json has rules of its
// own for that. What encoding/json can decode gets the same verdict here, or is
// left to it; a value of a wrong type in a field that is not read is passed over.
func decodePodReview(body []byte) *admissionv1.AdmissionReview {
	r := podReaders.Get().(*podReader)
	defer podReaders.Put(r)
	r.start(body)
	review := r.review()
	ok := r.end()
	r.start(nil)
	if !ok {
		return nil
	}
	return review
}

// A podReader reads reviews of Pods.
type podReader struct {
	scanner
	// Room for lists that are copied.
	requests, limits []quantity
	room             []corev1.Container
}

var podReaders = sync.Pool{New: func() any { return &podReader{} }}

// The names that are read of each object.
var (
	reviewNames  = []string{"kind", "apiVersion", "request"}
	requestNames = []string{"uid", "kind", "namespace", "operation", "userInfo", "object", "dryRun", "name", "subResource"}
	kindNames    = []string{"group", "version", "kind"}
	userNames    = []string{"username"}
)

// A podReview is what comes of a review.
type podReview struct {
	review  admissionv1.AdmissionReview
	request admissionv1.AdmissionRequest
	pod     corev1.Pod
	dryRun  bool
}

func (r *podReader) review() *admissionv1.AdmissionReview {
	made := &podReview{}
	made.review.Request = &made.request // without a uid it is refused
	r.object(reviewNames, func(name string) {
		switch name {
		case "kind":
			made.review.Kind = r.text()
		case "apiVersion":
			made.review.APIVersion = r.text()
		case "request":
			r.request(made)
		}
	})
	return &made.review
}

func (r *podReader) request(made *podReview) {
	request := &made.request
	r.object(requestNames, func(name string) {
		switch name {
		case "uid":
			request.UID = types.UID(r.text())
		case "kind":
			request.Kind = r.kind()
		case "namespace":
			request.Namespace = r.text()
		case "operation":
			request.Operation = admissionv1.Operation(r.text())
		case "userInfo":
			r.object(userNames, func(string) { request.UserInfo.Username = r.text() })
		case "object":
			if r.pod(&made.pod) {
				request.Object.Object = &made.pod
			}
		case "dryRun":
			made.dryRun = r.truth()
			request.DryRun = &made.dryRun
		case "name":
			request.Name = r.text()
		case "subResource":
			request.SubResource = r.text()
		}
	})
}

func (r *podReader) kind() (kind metav1.GroupVersionKind) {
	r.object(kindNames, func(name string) {
		switch name {
		case "group":
			kind.Group = r.text()
		case "version":
			kind.Version = r.text()
		case "kind":
			kind.Kind = r.text()
		}
	})
	return kind
}
