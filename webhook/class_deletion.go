package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reviewDeletion warns if a RuntimeClass that is deleted is still used: the API
// server takes no Pod that names a class which is not there. It never denies: a
// handler cannot be changed, so that a class is mended by deleting it and making
// it anew.
func (r *ClassReviewer) reviewDeletion(ctx context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	u := &usage{counts: map[string]int{}}
	reached := survey(ctx, r.Live, []string{metav1.NamespaceAll}, func(_ context.Context, who *user) {
		if class := who.pod.Spec.RuntimeClassName; class != nil && *class == req.Name {
			u.add(who)
		}
	})
	verdict, response := warn(inUse, u.warnings(req.Name, reached))
	r.Decided(req, verdict)
	return response, nil
}

// A usage is what names a RuntimeClass.
type usage struct {
	counts map[string]int // by kind
	// workloads and pods are names; those of workloads are told first, since it
	// is they that somebody has to change.
	workloads, pods []string
}

func (u *usage) add(who *user) {
	u.counts[who.kind]++
	if who.template {
		u.workloads = append(u.workloads, who.String())
	} else {
		u.pods = append(u.pods, who.String())
	}
}

// String counts: "3 Pods and 1 Deployment".
func (u *usage) String() string {
	var parts []string
	for _, kind := range []string{"Pod", "Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "ReplicaSet"} {
		if n := u.counts[kind]; n > 0 {
			parts = append(parts, plural(n, kind))
		}
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return strings.Join(parts, "")
}

func (u *usage) warnings(class string, reached reach) []string {
	var warnings []string
	if len(u.counts) > 0 {
		warnings = append(warnings, u.tell(class, reached))
	}
	switch {
	case reached.err != nil:
		return append(warnings, fmt.Sprintf("whether %s is still used is not fully known: %v", called("RuntimeClass", class), reached.err))
	case reached.cut && reached.looked == 0:
		return append(warnings, fmt.Sprintf("whether %s is still used is not known: the API server did not answer within %s", called("RuntimeClass", class), surveyTime))
	case reached.cut && len(warnings) == 0:
		return append(warnings, fmt.Sprintf("%s is used by none of the first %s; the others were not looked at", called("RuntimeClass", class), plural(reached.looked, "object")))
	}
	return warnings
}

func (u *usage) tell(class string, reached reach) string {
	count := u.String()
	var rest []part
	if reached.cut || reached.err != nil {
		count = "at least " + count
	}
	if reached.cut {
		rest = append(rest, say(fmt.Sprintf("only the first %s were looked at", plural(reached.looked, "object"))))
	}
	slices.Sort(u.workloads)
	slices.Sort(u.pods)
	rest = append(rest, say("what runs keeps running, but Pods made anew will be rejected"))
	point := fmt.Sprintf("%s is still used by %s", called("RuntimeClass", class), count)
	return fit(named(point, append(u.workloads, u.pods...)), rest...)
}
