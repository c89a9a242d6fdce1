package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// WorkloadKinds are the built-in kinds that hold a template of Pods.
var WorkloadKinds = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	batchv1.SchemeGroupVersion.WithKind("Job"),
	batchv1.SchemeGroupVersion.WithKind("CronJob"),
	corev1.SchemeGroupVersion.WithKind("ReplicationController"),
	corev1.SchemeGroupVersion.WithKind("PodTemplate"),
}

// A WorkloadReviewer reviews what Pods are made from: Deployments, ReplicaSets,
// StatefulSets, DaemonSets, Jobs, CronJobs, ReplicationControllers and
// PodTemplates, as they are created and as their template changes. It only ever
// warns: the Pods are judged when they are created.
type WorkloadReviewer struct {
	Gate *Gate
	// Decided is told of each decision.
	Decided func(*admissionv1.AdmissionRequest, Verdict)
}

// Review implements Reviewer.
func (r *WorkloadReviewer) Review(ctx context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update || req.SubResource != "" {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	if !slices.Contains(WorkloadKinds, schema.GroupVersionKind(req.Kind)) {
		return nil, fmt.Errorf("got %s: want a kind with a Pod template", schema.GroupVersionKind(req.Kind))
	}
	template, err := readTemplate(req.Kind.Kind, req.Object.Raw)
	if err != nil {
		return nil, fmt.Errorf("decode %s %q in namespace %q: %w", req.Kind.Kind, req.Name, req.Namespace, err)
	}
	if req.Operation == admissionv1.Update {
		old, err := readTemplate(req.Kind.Kind, req.OldObject.Raw)
		if err != nil {
			return nil, fmt.Errorf("decode old %s %q in namespace %q: %w", req.Kind.Kind, req.Name, req.Namespace, err)
		}
		if equality.Semantic.DeepEqual(relevant(template), relevant(old)) {
			return &admissionv1.AdmissionResponse{Allowed: true}, nil
		}
	}
	verdict := r.Gate.Template(ctx, req.Namespace, template)
	r.Decided(req, verdict)
	return respond(verdict), nil
}

// A workload has the fields of all kinds that hold a template; each kind uses
// one of them.
type workload struct {
	Template *corev1.PodTemplateSpec `json:"template"` // PodTemplate
	Spec     struct {
		Template    *corev1.PodTemplateSpec `json:"template"`
		JobTemplate *struct {               // CronJob
			Spec struct {
				Template *corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

func readTemplate(kind string, raw []byte) (*corev1.PodTemplateSpec, error) {
	var object workload
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	template := object.Spec.Template
	switch {
	case kind == "PodTemplate":
		template = object.Template
	case kind == "CronJob" && object.Spec.JobTemplate != nil:
		template = object.Spec.JobTemplate.Spec.Template
	}
	if template == nil {
		// A ReplicationController may do without.
		template = &corev1.PodTemplateSpec{}
	}
	return template, nil
}

// relevant returns what of a template a verdict depends on, so that a new image
// does not repeat an old warning.
func relevant(template *corev1.PodTemplateSpec) *corev1.Pod {
	spec := &template.Spec
	kept := &corev1.Pod{Spec: corev1.PodSpec{
		RuntimeClassName:  spec.RuntimeClassName,
		NodeName:          spec.NodeName,
		NodeSelector:      spec.NodeSelector,
		Tolerations:       spec.Tolerations,
		Overhead:          spec.Overhead,
		Resources:         spec.Resources,
		HostUsers:         spec.HostUsers,
		ResourceClaims:    spec.ResourceClaims,
		PriorityClassName: spec.PriorityClassName,
		SchedulingGates:   spec.SchedulingGates,
		InitContainers:    relevantContainers(spec.InitContainers),
		Containers:        relevantContainers(spec.Containers),
	}}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		kept.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		}}
	}
	if spec.SecurityContext != nil {
		kept.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroupsPolicy: spec.SecurityContext.SupplementalGroupsPolicy}
	}
	if value, ok := template.Annotations[UntrustedAnnotation]; ok {
		metav1.SetMetaDataAnnotation(&kept.ObjectMeta, UntrustedAnnotation, value)
	}
	return kept
}

func relevantContainers(containers []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for i := range containers {
		c := corev1.Container{Resources: containers[i].Resources, RestartPolicy: containers[i].RestartPolicy}
		for _, mount := range containers[i].VolumeMounts {
			if mount.RecursiveReadOnly != nil {
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{RecursiveReadOnly: mount.RecursiveReadOnly})
			}
		}
		kept = append(kept, c)
	}
	return kept
}
