package webhook

import (
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
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
// left to it; a fault in a field that is not read is passed over.
func decodePodReview(body []byte) *admissionv1.AdmissionReview {
	read := podReviews.Get().(*podReview)
	defer func() {
		read.forget()
		podReviews.Put(read)
	}()
	if err := json.Unmarshal(body, read, asEncodingJSON...); err != nil {
		return nil
	}
	return read.review()
}

// asEncodingJSON matches names as encoding/json does. In other ways than it does,
// nothing is decoded at all.
var asEncodingJSON = []json.Options{json.MatchCaseInsensitiveNames(true), jsonv1.MatchCaseSensitiveDelimiter(true)}

// podReviews are podReviews to decode into.
var podReviews = sync.Pool{New: func() any { return &podReview{} }}

// A podReview is what is read of an AdmissionReview. What it has as unread may be
// large: of a known field that is passed over in less time.
type podReview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    struct {
		UID         types.UID               `json:"uid"`
		Kind        metav1.GroupVersionKind `json:"kind"`
		SubResource string                  `json:"subResource"`
		Name        string                  `json:"name"`
		Namespace   string                  `json:"namespace"`
		Operation   admissionv1.Operation   `json:"operation"`
		UserInfo    struct {
			Username string `json:"username"`
			Groups   unread `json:"groups"`
			Extra    unread `json:"extra"`
		} `json:"userInfo"`
		DryRun          bool     `json:"dryRun"`
		Object          podParts `json:"object"`
		Resource        unread   `json:"resource"`
		RequestKind     unread   `json:"requestKind"`
		RequestResource unread   `json:"requestResource"`
		Options         unread   `json:"options"`
	} `json:"request"`
}

// podParts are what of a Pod a verdict depends on, and what its log line needs.
// relevant has the like of a template.
type podParts struct {
	given    bool
	Metadata struct {
		GenerateName    string      `json:"generateName"`
		Annotations     annotations `json:"annotations"`
		OwnerReferences []ownerPart `json:"ownerReferences"`
		Labels          unread      `json:"labels"`
		ManagedFields   unread      `json:"managedFields"`
	} `json:"metadata"`
	Spec struct {
		RuntimeClassName string            `json:"runtimeClassName"`
		NodeName         string            `json:"nodeName"`
		NodeSelector     map[string]string `json:"nodeSelector"`
		Tolerations      []tolerationPart  `json:"tolerations"`
		Affinity         *struct {
			NodeAffinity *struct {
				Required *corev1.NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution"`
			} `json:"nodeAffinity"`
			PodAffinity     unread `json:"podAffinity"`
			PodAntiAffinity unread `json:"podAntiAffinity"`
		} `json:"affinity"`
		Overhead          quantities                 `json:"overhead"`
		Resources         resourcesPart              `json:"resources"`
		HostUsers         *bool                      `json:"hostUsers"`
		ResourceClaims    []corev1.PodResourceClaim  `json:"resourceClaims"`
		PriorityClassName string                     `json:"priorityClassName"`
		SchedulingGates   []corev1.PodSchedulingGate `json:"schedulingGates"`
		SecurityContext   struct {
			SupplementalGroupsPolicy *corev1.SupplementalGroupsPolicy `json:"supplementalGroupsPolicy"`
		} `json:"securityContext"`
		InitContainers []containerPart `json:"initContainers"`
		Containers     []containerPart `json:"containers"`
		Volumes        unread          `json:"volumes"`
	} `json:"spec"`
	Status unread `json:"status"`
}

type ownerPart struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Controller bool   `json:"controller"`
}

type tolerationPart struct {
	Key      string                    `json:"key"`
	Operator corev1.TolerationOperator `json:"operator"`
	Value    string                    `json:"value"`
	Effect   corev1.TaintEffect        `json:"effect"`
}

type containerPart struct {
	Resources       resourcesPart                  `json:"resources"`
	RestartPolicy   *corev1.ContainerRestartPolicy `json:"restartPolicy"`
	VolumeMounts    recursiveMounts                `json:"volumeMounts"`
	Args            unread                         `json:"args"`
	Command         unread                         `json:"command"`
	Env             unread                         `json:"env"`
	EnvFrom         unread                         `json:"envFrom"`
	Ports           unread                         `json:"ports"`
	Lifecycle       unread                         `json:"lifecycle"`
	LivenessProbe   unread                         `json:"livenessProbe"`
	ReadinessProbe  unread                         `json:"readinessProbe"`
	StartupProbe    unread                         `json:"startupProbe"`
	SecurityContext unread                         `json:"securityContext"`
}

type resourcesPart struct {
	Requests quantities `json:"requests"`
	Limits   quantities `json:"limits"`
}

// forget makes r ready to be decoded into, and keeps the room for lists that are
// copied.
func (r *podReview) forget() {
	owners, spec := r.Request.Object.Metadata.OwnerReferences, &r.Request.Object.Spec
	tolerations, inits, containers := spec.Tolerations, spec.InitContainers, spec.Containers
	for _, list := range [][]containerPart{inits, containers} {
		clear(list[:cap(list)])
	}
	*r = podReview{}
	r.Request.Object.Metadata.OwnerReferences = owners[:0]
	spec.Tolerations, spec.InitContainers, spec.Containers = tolerations[:0], inits[:0], containers[:0]
}

// review returns what was read as an AdmissionReview.
func (r *podReview) review() *admissionv1.AdmissionReview {
	made := &struct {
		review  admissionv1.AdmissionReview
		request admissionv1.AdmissionRequest
		pod     corev1.Pod
		extra   podExtra
	}{}
	made.review.APIVersion, made.review.Kind, made.review.Request = r.APIVersion, r.Kind, &made.request
	made.request = admissionv1.AdmissionRequest{
		UID: r.Request.UID, Kind: r.Request.Kind, SubResource: r.Request.SubResource,
		Name: r.Request.Name, Namespace: r.Request.Namespace, Operation: r.Request.Operation, DryRun: &made.extra.dryRun,
	}
	made.extra.dryRun = r.Request.DryRun
	made.request.UserInfo.Username = r.Request.UserInfo.Username
	if r.Request.Object.given {
		r.Request.Object.into(&made.pod, &made.extra)
		made.request.Object.Object = &made.pod
	}
	return &made.review
}

// A podExtra is what a Pod and its review point at.
type podExtra struct {
	class            string
	dryRun, controls bool
}

// into sets the fields of a Pod.
func (p *podParts) into(pod *corev1.Pod, extra *podExtra) {
	from, spec := &p.Spec, &pod.Spec
	pod.GenerateName, pod.Annotations = p.Metadata.GenerateName, p.Metadata.Annotations
	for _, o := range p.Metadata.OwnerReferences {
		if o.Controller {
			extra.controls = true
			pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Controller: &extra.controls})
		}
	}
	if extra.class = from.RuntimeClassName; extra.class != "" {
		spec.RuntimeClassName = &extra.class
	}
	spec.NodeName, spec.NodeSelector, spec.HostUsers = from.NodeName, from.NodeSelector, from.HostUsers
	spec.ResourceClaims, spec.PriorityClassName, spec.SchedulingGates = from.ResourceClaims, from.PriorityClassName, from.SchedulingGates
	spec.Tolerations = slices.Grow(spec.Tolerations, len(from.Tolerations))
	for _, t := range from.Tolerations {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect})
	}
	if from.Affinity != nil && from.Affinity.NodeAffinity != nil {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: from.Affinity.NodeAffinity.Required,
		}}
	}
	if policy := from.SecurityContext.SupplementalGroupsPolicy; policy != nil {
		spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroupsPolicy: policy}
	}
	spec.Overhead = from.Overhead.list()
	if len(from.Resources.Requests)+len(from.Resources.Limits) > 0 {
		spec.Resources = &corev1.ResourceRequirements{Requests: from.Resources.Requests.list(), Limits: from.Resources.Limits.list()}
	}
	spec.InitContainers, spec.Containers = containersOf(from.InitContainers), containersOf(from.Containers)
}

func containersOf(parts []containerPart) []corev1.Container {
	if len(parts) == 0 {
		return nil
	}
	containers := make([]corev1.Container, len(parts))
	for i := range parts {
		c, part := &containers[i], &parts[i]
		c.Resources.Requests = part.Resources.Requests.list()
		// A limit only ever stands for a request that is absent.
		if !part.Resources.Requests.cover(part.Resources.Limits) {
			c.Resources.Limits = part.Resources.Limits.list()
		}
		c.RestartPolicy, c.VolumeMounts = part.RestartPolicy, part.VolumeMounts
	}
	return containers
}
