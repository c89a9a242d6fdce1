package inventory

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	resourcehelper "k8s.io/component-helpers/resource"
)

// A request is how much of a resource a Pod asks for, all its containers and
// its overhead together.
type request struct {
	name     corev1.ResourceName
	amount   int64
	extended bool
	// devices of a DeviceClass may be used where a node has none of it.
	devices bool
}

// requestsOf returns what the scheduler checks of a Pod's requests.
func requestsOf(pod *corev1.Pod, options resourcehelper.PodResourcesOptions) []request {
	if pod.Spec.Resources != nil && pod.Spec.Overhead != nil {
		// PodRequests adds the overhead to the Pod's own requests in place when
		// they are written like 0.5Gi: they hold a pointer (component-helpers 0.37).
		pod = pod.DeepCopy()
	}
	all := onlyRequests(pod)
	if all == nil {
		all = resourcehelper.PodRequests(pod, options)
	}
	var requests []request
	for name, quantity := range all {
		amount := amountOf(name, quantity)
		if amount <= 0 || !isScheduled(name) {
			continue
		}
		extended := isExtended(name)
		requests = append(requests, request{
			name:     name,
			amount:   amount,
			extended: extended,
			devices:  extended || strings.HasPrefix(string(name), resourcev1.ResourceDeviceClassPrefix),
		})
	}
	return requests
}

// onlyRequests are those of a Pod that has no others: there is nothing to add up.
// nil stands for one that has.
func onlyRequests(pod *corev1.Pod) corev1.ResourceList {
	if len(pod.Spec.Containers) != 1 || len(pod.Spec.InitContainers) > 0 || pod.Spec.Resources != nil || len(pod.Spec.Overhead) > 0 {
		return nil
	}
	own := &pod.Spec.Containers[0].Resources
	if len(own.Requests)+len(own.Limits) == 0 {
		return noRequests
	}
	return own.Requests
}

var noRequests = corev1.ResourceList{}

// room returns tooSmall if the requests do not fit a node with nothing on it,
// and notListed if a DeviceClass may make up for what it lacks.
//
// A node that offers nothing at all is not ruled out, though the scheduler
// would: a kubelet says what it offers when it registers, so this is a node
// told of by something else, which has left that out.
func (p *Placement) room(requests []request, r room) obstacle {
	if len(r) == 0 {
		return none
	}
	if pods, _ := r.of(corev1.ResourcePods); pods < 1 {
		return tooSmall
	}
	found := none
	for i := range requests {
		want := &requests[i]
		have, listed := r.of(want.name)
		switch {
		case want.amount <= have:
		case p.nodeName != "":
			// The kubelet passes over extended resources that its node does not
			// list (removeMissingExtendedResources).
			if listed || !want.extended {
				return tooSmall
			}
		case want.devices && have <= 0:
			// NodeResourcesFit leaves it to the plugin DynamicResources if there is
			// a DeviceClass for it (shouldDelegateResourceToDRA; DRAExtendedResource
			// is on from 1.36).
			found = notListed
		default:
			return tooSmall
		}
	}
	return found
}

// fitsBare says whether a node that is too small for the Pod would not be,
// were it not for the overhead of the Pod's class.
func (p *Placement) fitsBare(r room) bool {
	return p.bare != nil && p.room(p.bare, r) != tooSmall
}

// DefaultRequests does to a Pod's spec what the API server does to requests when
// the Pod is created, but not to those of a template: limits stand for requests
// that are absent (kubernetes 1.37, pkg/apis/core/v1/defaults.go, SetDefaults_Pod
// and defaultPodRequests). What it changes below the spec it copies first.
func DefaultRequests(spec *corev1.PodSpec) {
	spec.InitContainers = withRequests(spec.InitContainers)
	spec.Containers = withRequests(spec.Containers)
	if spec.Resources == nil || len(spec.Resources.Limits) == 0 {
		return
	}
	own := *spec.Resources
	spec.Resources = &own
	total := resourcehelper.AggregateContainerRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})
	own.Requests = filled(own.Requests, total, func(name corev1.ResourceName) bool {
		return name == corev1.ResourceCPU || name == corev1.ResourceMemory
	})
	own.Requests = filled(own.Requests, own.Limits, resourcehelper.IsSupportedPodLevelResource)
}

// withRequests returns containers with a request for each of their limits: the
// same ones, if they have them.
func withRequests(containers []corev1.Container) []corev1.Container {
	all := func(corev1.ResourceName) bool { return true }
	copied := false
	for i := range containers {
		have := &containers[i].Resources
		requests := filled(have.Requests, have.Limits, all)
		if len(requests) == len(have.Requests) {
			continue
		}
		if !copied {
			containers, copied = slices.Clone(containers), true
		}
		containers[i].Resources.Requests = requests
	}
	return containers
}

// filled returns a list with what it lacks of another, of the names that are
// wanted: the same list, if it lacks none.
func filled(list, other corev1.ResourceList, wanted func(corev1.ResourceName) bool) corev1.ResourceList {
	copied := false
	for name, quantity := range other {
		if _, ok := list[name]; ok || !wanted(name) {
			continue
		}
		if !copied {
			with := make(corev1.ResourceList, len(list)+len(other))
			maps.Copy(with, list)
			list, copied = with, true
		}
		list[name] = quantity
	}
	return list
}

// amountOf returns a quantity as the scheduler counts: thousandths of a CPU, and
// whole units of all else, rounded up.
func amountOf(name corev1.ResourceName, quantity resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

// isScheduled says whether the scheduler heeds a resource in a Pod's requests:
// as in IsScalarResourceName of its package util, and the three that it has
// fields for.
func isScheduled(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return isExtended(name) ||
		strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix) ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(string(name), corev1.ResourceAttachableVolumesPrefix)
}

// isExtended is IsExtendedResourceName of k8s.io/kubernetes/pkg/apis/core/v1/helper.
func isExtended(name corev1.ResourceName) bool {
	text := string(name)
	if !strings.Contains(text, "/") ||
		strings.Contains(text, corev1.ResourceDefaultNamespacePrefix) ||
		strings.HasPrefix(text, corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return isPlainKey(text) || len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+text)) == 0
}
