package harness

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// insecure takes any certificate: serve makes its own.
var insecure = &http.Client{
	Timeout:   30 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

// Ask has the gate judge a RuntimeClass of a handler, as an API server does, and
// returns what it warns of.
func (g *Gate) Ask(handler string) (string, error) {
	class, err := json.Marshal(nodev1.RuntimeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "node.k8s.io/v1", Kind: "RuntimeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: handler}, Handler: handler,
	})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Kind: metav1.GroupVersionKind{Group: "node.k8s.io", Version: "v1", Kind: "RuntimeClass"}, Name: handler,
			Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: class},
		},
	})
	if err != nil {
		return "", err
	}
	response, err := insecure.Post("https://"+g.Webhook+"/validate-runtimeclasses", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", err
	}
	if answer.Response == nil {
		return "", fmt.Errorf("it answers nothing: %s", response.Status)
	}
	return strings.Join(answer.Response.Warnings, "\n"), nil
}
