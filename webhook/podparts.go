package webhook

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names that are read of each object.
var (
	podNames         = []string{"metadata", "spec"}
	metadataNames    = []string{"generateName", "annotations", "ownerReferences"}
	ownerNames       = []string{"apiVersion", "kind", "controller"}
	specNames        = []string{"containers", "initContainers", "nodeSelector", "tolerations", "securityContext", "runtimeClassName", "nodeName", "priorityClassName", "affinity", "overhead", "resources", "hostUsers", "resourceClaims", "schedulingGates"}
	tolerationNames  = []string{"key", "operator", "value", "effect"}
	containerNames   = []string{"resources", "volumeMounts", "restartPolicy"}
	resourcesNames   = []string{"limits", "requests"}
	mountNames       = []string{"recursiveReadOnly"}
	securityNames    = []string{"supplementalGroupsPolicy"}
	affinityNames    = []string{"nodeAffinity"}
	nodeAffinityName = []string{"requiredDuringSchedulingIgnoredDuringExecution"}
)

// pod reads what of a Pod a verdict depends on, and what its log line needs.
// relevant has the like of a template. It says whether there is an object.
func (r *podReader) pod(pod *corev1.Pod) bool {
	if r.peek() == 'n' {
		r.skip()
		return false
	}
	r.object(podNames, func(name string) {
		switch name {
		case "metadata":
			r.metadata(&pod.ObjectMeta)
		case "spec":
			r.spec(&pod.Spec)
		}
	})
	return true
}

func (r *podReader) metadata(meta *metav1.ObjectMeta) {
	r.object(metadataNames, func(name string) {
		switch name {
		case "generateName":
			meta.GenerateName = r.text()
		case "annotations":
			r.annotations(meta)
		case "ownerReferences":
			r.array(func() { r.owner(meta) })
		}
	})
}

// annotations reads those that are of interest. As keys of a map they are told
// apart by all letters.
func (r *podReader) annotations(meta *metav1.ObjectMeta) {
	if r.null() {
		return
	}
	r.open('{')
	for first := true; r.more('}', first); first = false {
		quoted, plain := r.quoted()
		if r.bad = r.bad || !plain || r.peek() != ':'; r.bad {
			return
		}
		r.at++
		switch string(quoted) {
		case corev1.MirrorPodAnnotationKey:
			metav1.SetMetaDataAnnotation(meta, corev1.MirrorPodAnnotationKey, r.text())
		case UntrustedAnnotation:
			metav1.SetMetaDataAnnotation(meta, UntrustedAnnotation, r.text())
		default:
			r.skip()
		}
	}
}

// owner keeps a controller.
func (r *podReader) owner(meta *metav1.ObjectMeta) {
	var owner metav1.OwnerReference
	controls := false
	r.object(ownerNames, func(name string) {
		switch name {
		case "apiVersion":
			owner.APIVersion = r.text()
		case "kind":
			owner.Kind = r.text()
		case "controller":
			controls = r.truth()
		}
	})
	if controls {
		owner.Controller = &isController
		meta.OwnerReferences = append(meta.OwnerReferences, owner)
	}
}

var isController = true

func (r *podReader) spec(spec *corev1.PodSpec) {
	r.object(specNames, func(name string) {
		switch name {
		case "containers":
			spec.Containers = r.containers()
		case "initContainers":
			spec.InitContainers = r.containers()
		case "nodeSelector":
			spec.NodeSelector = r.pairs()
		case "tolerations":
			spec.Tolerations = make([]corev1.Toleration, 0, 4)
			r.array(func() { spec.Tolerations = append(spec.Tolerations, r.toleration()) })
		case "securityContext":
			r.securityContext(spec)
		case "runtimeClassName":
			if class := r.text(); class != "" {
				spec.RuntimeClassName = &class
			}
		case "nodeName":
			spec.NodeName = r.text()
		case "priorityClassName":
			spec.PriorityClassName = r.text()
		case "affinity":
			r.affinity(spec)
		case "overhead":
			spec.Overhead = listOf(r.quantities(nil))
		case "resources":
			if own := r.resources(); len(own.Requests)+len(own.Limits) > 0 {
				spec.Resources = &own
			}
		case "hostUsers":
			r.other(&spec.HostUsers)
		case "resourceClaims":
			r.other(&spec.ResourceClaims)
		case "schedulingGates":
			r.other(&spec.SchedulingGates)
		}
	})
}

func (r *podReader) toleration() (t corev1.Toleration) {
	r.object(tolerationNames, func(name string) {
		switch name {
		case "key":
			t.Key = r.text()
		case "operator":
			t.Operator = corev1.TolerationOperator(r.text())
		case "value":
			t.Value = r.text()
		case "effect":
			t.Effect = corev1.TaintEffect(r.text())
		}
	})
	return t
}

func (r *podReader) securityContext(spec *corev1.PodSpec) {
	r.object(securityNames, func(string) {
		own := &corev1.PodSecurityContext{}
		if r.other(&own.SupplementalGroupsPolicy); own.SupplementalGroupsPolicy != nil {
			spec.SecurityContext = own
		}
	})
}

func (r *podReader) affinity(spec *corev1.PodSpec) {
	r.object(affinityNames, func(string) {
		r.object(nodeAffinityName, func(string) {
			own := &corev1.NodeAffinity{}
			if r.other(&own.RequiredDuringSchedulingIgnoredDuringExecution); own.RequiredDuringSchedulingIgnoredDuringExecution != nil {
				spec.Affinity = &corev1.Affinity{NodeAffinity: own}
			}
		})
	})
}

func (r *podReader) containers() []corev1.Container {
	room := r.room[:0]
	r.array(func() {
		room = append(room, corev1.Container{})
		r.container(&room[len(room)-1])
	})
	containers := slices.Clone(room)
	clear(room)
	r.room = room
	return containers
}

func (r *podReader) container(c *corev1.Container) {
	r.object(containerNames, func(name string) {
		switch name {
		case "resources":
			c.Resources = r.resources()
		case "volumeMounts":
			r.array(func() { r.mount(c) })
		case "restartPolicy":
			r.other(&c.RestartPolicy)
		}
	})
}

// mount keeps a mount that says something of recursiveReadOnly.
func (r *podReader) mount(c *corev1.Container) {
	r.object(mountNames, func(string) {
		var mount corev1.VolumeMount
		if r.other(&mount.RecursiveReadOnly); mount.RecursiveReadOnly != nil {
			c.VolumeMounts = append(c.VolumeMounts, mount)
		}
	})
}

// resources reads requests, and the limits if there are some for which there is no
// request: for those they stand.
func (r *podReader) resources() (own corev1.ResourceRequirements) {
	requests, limits := r.requests[:0], r.limits[:0]
	r.object(resourcesNames, func(name string) {
		if name == "limits" {
			limits = r.quantities(limits)
		} else {
			requests = r.quantities(requests)
		}
	})
	own.Requests = listOf(requests)
	if slices.ContainsFunc(limits, func(limit quantity) bool { _, ok := own.Requests[limit.name]; return !ok }) {
		own.Limits = listOf(limits)
	}
	r.requests, r.limits = requests, limits
	return own
}

// A quantity is an amount of a resource.
type quantity struct {
	name   corev1.ResourceName
	amount resource.Quantity
}

// quantities appends a corev1.ResourceList.
func (r *podReader) quantities(list []quantity) []quantity {
	r.members(func(name string) {
		own := quantity{name: corev1.ResourceName(name)}
		if raw := r.raw(); !r.bad {
			r.bad = own.amount.UnmarshalJSON(raw) != nil
		}
		list = append(list, own)
	})
	return list
}

// pairs reads a map of strings.
func (r *podReader) pairs() (pairs map[string]string) {
	if r.peek() == '{' {
		pairs = map[string]string{}
	}
	r.members(func(name string) { pairs[name] = r.text() })
	return pairs
}

// members calls member for each name in an object, to read the value. null has none.
func (r *podReader) members(member func(name string)) {
	if r.null() {
		return
	}
	r.open('{')
	for first := true; r.more('}', first); first = false {
		r.bad = r.peek() != '"'
		name := r.text()
		if r.bad = r.bad || r.peek() != ':'; r.bad {
			return
		}
		r.at++
		member(name)
	}
}

func listOf(quantities []quantity) corev1.ResourceList {
	if len(quantities) == 0 {
		return nil
	}
	list := make(corev1.ResourceList, len(quantities))
	for i := range quantities {
		list[quantities[i].name] = quantities[i].amount // encoding/json takes the last, too
	}
	return list
}
