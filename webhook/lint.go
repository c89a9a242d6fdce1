package webhook

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/runtimegate/runtimegate/inventory"
)

// Judge judges an object that is about to be created, as it is written in a
// manifest: what the API server does to it before it calls the webhook is done
// here. concerned says whether there is anything to judge: the object is a
// RuntimeClass, or a Pod or template that names one or needs a feature of the
// runtime, or something is the matter with it.
func (g *Gate) Judge(ctx context.Context, namespace string, object runtime.Object) (verdict Verdict, concerned bool) {
	switch object := object.(type) {
	case *nodev1.RuntimeClass:
		return g.RuntimeClass(object), true
	case *corev1.Pod:
		verdict = g.NewPod(ctx, namespace, object)
		concerned = asksOfRuntime(object)
	default:
		template := templateOf(object)
		if template == nil {
			return Verdict{}, false
		}
		verdict = g.Template(ctx, namespace, template)
		concerned = asksOfRuntime(&corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec})
	}
	return verdict, concerned || len(verdict.Findings) > 0
}

// NewPod judges a Pod before the API server has merged its class into it.
// Rejected says that the API server would not let it come to the webhook, which
// is a denial whatever MaxAction is.
func (g *Gate) NewPod(ctx context.Context, namespace string, pod *corev1.Pod) Verdict {
	pod = pod.DeepCopy()
	if err := g.admit(ctx, &pod.Spec); err != nil {
		message := fmt.Sprintf("the API server rejects the Pod: %v", err)
		var verdict Verdict
		verdict.add(&Finding{Condition: Rejected, Action: Deny, Message: message, Detail: message})
		return verdict
	}
	var verdict Verdict
	for _, finding := range g.Pod(ctx, namespace, pod).Findings {
		if finding.Condition == Rejected {
			finding.Action = Deny
		}
		verdict.add(&finding)
	}
	return verdict
}

// admit merges the class of a Pod into it, and returns the reason for which the
// API server would reject it. A class that is not found is left to Pod to tell.
func (g *Gate) admit(ctx context.Context, spec *corev1.PodSpec) error {
	if spec.RuntimeClassName == nil || *spec.RuntimeClassName == "" {
		return MergeClass(spec, nil)
	}
	class, err := g.Class(ctx, *spec.RuntimeClassName)
	if err != nil {
		return nil
	}
	return MergeClass(spec, class)
}

// templateOf returns the template of a workload, nil for other kinds.
func templateOf(object runtime.Object) *corev1.PodTemplateSpec {
	switch object := object.(type) {
	case *appsv1.Deployment:
		return &object.Spec.Template
	case *appsv1.ReplicaSet:
		return &object.Spec.Template
	case *appsv1.StatefulSet:
		return &object.Spec.Template
	case *appsv1.DaemonSet:
		return &object.Spec.Template
	case *batchv1.Job:
		return &object.Spec.Template
	case *batchv1.CronJob:
		return &object.Spec.JobTemplate.Spec.Template
	case *corev1.ReplicationController:
		// It may do without.
		return object.Spec.Template
	case *corev1.PodTemplate:
		return &object.Template
	}
	return nil
}

// asksOfRuntime says whether a Pod names a handler, or needs what not every
// runtime offers.
func asksOfRuntime(pod *corev1.Pod) bool {
	_, untrusted := pod.Annotations[UntrustedAnnotation]
	name := pod.Spec.RuntimeClassName
	return untrusted || name != nil && *name != "" || inventory.FeaturesOf(&pod.Spec) != 0
}

// Message is what is told of a verdict in one line; empty when nothing is.
func (v *Verdict) Message() string {
	var messages []string
	for i := range v.Findings {
		if v.Findings[i].Action > Allow {
			messages = append(messages, v.Findings[i].Message)
		}
	}
	return strings.Join(messages, "; ")
}
