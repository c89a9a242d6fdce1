package webhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Recheck judges anew what names a RuntimeClass and is in the cluster already:
// each workload by its template, and each Pod that no controller has made. It
// lists them page by page, and may take as long as that takes; what can't be
// listed is left out, and the error says what.
func (g *Gate) Recheck(ctx context.Context, live Lister, class string, visit func(corev1.ObjectReference, Verdict)) error {
	var failed error
	for _, kind := range surveyed {
		err := eachObject(ctx, live, kind.list, "", func() int { return surveyPage }, func(object runtime.Object) error {
			u := userOf(object)
			if u == nil || u.pod.Spec.RuntimeClassName == nil || *u.pod.Spec.RuntimeClassName != class {
				return ctx.Err()
			}
			about, err := meta.Accessor(object)
			if err != nil || metav1.GetControllerOf(about) != nil {
				return err
			}
			ref := corev1.ObjectReference{APIVersion: kind.apiVersion, Kind: u.kind, Namespace: u.namespace, Name: u.name, UID: about.GetUID()}
			if u.template {
				visit(ref, g.Template(ctx, u.namespace, &corev1.PodTemplateSpec{ObjectMeta: u.pod.ObjectMeta, Spec: u.pod.Spec}))
			} else {
				visit(ref, g.Pod(ctx, u.namespace, u.pod))
			}
			return ctx.Err()
		})
		if err != nil && failed == nil {
			failed = fmt.Errorf("list %s: %w", kind.resource, err)
		}
	}
	return failed
}
