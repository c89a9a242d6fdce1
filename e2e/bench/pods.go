package bench

import (
	"encoding/json"
	"os"
	"path/filepath"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Sizes are those of the Pods.
var Sizes = []string{"4KiB", "32KiB"}

// readPod reads the Pod of a size.
func readPod(root, size string) ([]byte, error) {
	return os.ReadFile(filepath.Join(root, "webhook", "testdata", "pod-"+size+".json"))
}

// Pod is the Pod of a size.
func Pod(root, size string) (*corev1.Pod, error) {
	raw, err := readPod(root, size)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	return pod, json.Unmarshal(raw, pod)
}

// Review is what an API server posts as the Pod of a size is created.
func Review(root, size string) ([]byte, error) {
	raw, err := readPod(root, size)
	if err != nil {
		return nil, err
	}
	kind, pods, dry := metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, false
	return json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "705ab4f5-6393-11e8-b7cc-42010a800002", Kind: kind, Resource: pods, RequestKind: &kind, RequestResource: &pods,
			Namespace: namespace, Operation: admissionv1.Create,
			UserInfo: authenticationv1.UserInfo{
				Username: "system:serviceaccount:kube-system:replicaset-controller", UID: "c1a0fd4c-8f42-4b52-9d2d-0b6c1b6d3f0e",
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
			},
			Object: runtime.RawExtension{Raw: raw}, DryRun: &dry,
			Options: runtime.RawExtension{Raw: []byte(`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`)},
		},
	})
}
