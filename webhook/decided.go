package webhook

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A decidedFunc is told of each decision.
type decidedFunc func(*admissionv1.AdmissionRequest, Verdict)

// record returns a function that counts the decisions on a resource, and logs
// those that deny.
func record(resource string, log logr.Logger) decidedFunc {
	return func(req *admissionv1.AdmissionRequest, verdict Verdict) {
		count(resource, verdict)
		if verdict.Action() == Deny {
			logDenial(log, req, &verdict)
		}
	}
}

// logDenial writes one line that says who was denied what, and why. It holds
// nothing of the object but its name.
func logDenial(log logr.Logger, req *admissionv1.AdmissionRequest, verdict *Verdict) {
	var conditions, handlers, policies []string
	for i := range verdict.Findings {
		if f := &verdict.Findings[i]; f.Action == Deny {
			conditions = append(conditions, string(f.Condition))
			handlers = append(handlers, f.Handler)
			policies = append(policies, f.Policy)
		}
	}
	log.Info("Denied", "kind", req.Kind.Kind, "namespace", req.Namespace, "name", nameOf(req),
		"condition", each(conditions), "handler", each(handlers), "policy", each(policies),
		"user", req.UserInfo.Username, "dryRun", req.DryRun != nil && *req.DryRun)
}

// each lists what is not empty, once each, in order.
func each(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), ",")
}

// nameOf is the name of the object that a request is about. One that is created
// may get its name only after the webhooks (kubernetes 1.37): then it is what the
// name will begin with, as of a ReplicaSet's Pods.
func nameOf(req *admissionv1.AdmissionRequest) string {
	if req.Name != "" {
		return req.Name
	}
	object, ok := req.Object.Object.(metav1.Object)
	if !ok {
		partial := &metav1.PartialObjectMetadata{}
		if json.Unmarshal(req.Object.Raw, partial) != nil {
			return ""
		}
		object = partial
	}
	if object.GetGenerateName() == "" {
		return ""
	}
	return object.GetGenerateName() + "*"
}
