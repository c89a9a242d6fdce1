package inventory

import (
	"encoding/json"
	"sync"
	"unique"

	jsonv2 "github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A keeper makes what a cache keeps of objects: no more than is used, and what is
// equal of many nodes once. Of 100,000 nodes the objects would take more than a
// gigabyte as they come.
type keeper struct {
	words    shared[string]
	rooms    shared[corev1.ResourceList]
	taints   shared[[]corev1.Taint]
	listed   shared[[]corev1.NodeRuntimeHandler]
	handlers shared[[]v1alpha1.Handler]
	findings shared[[]v1alpha1.Finding]
	next     shared[[]string]

	once         sync.Once
	unmarshalers jsonv2.Options // of a page of NodeRuntimes
}

// node returns what is used of a Node. A cache asks twice of one that it lists: what
// no API server and no kubelet leaves out is not there the second time.
func (k *keeper) node(object *corev1.Node) *corev1.Node {
	if object.ManagedFields == nil && object.Annotations == nil && object.Status.NodeInfo.KubeletVersion == "" {
		return object
	}
	n := StripNode(object)
	labels := make(map[string]string, len(n.Labels))
	for key, value := range n.Labels {
		labels[unique.Make(key).Value()] = unique.Make(value).Value()
	}
	n.Labels = labels
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			c.LastTransitionTime, c.Reason, c.Message = metav1.Time{}, "", ""
		}
	}
	n.Spec.Taints = k.taints.of(n.Spec.Taints)
	n.Status.Allocatable = k.rooms.of(n.Status.Allocatable)
	n.Status.RuntimeHandlers = k.listed.of(n.Status.RuntimeHandlers)
	return n
}

// report returns what is used of a NodeRuntime, also by the audit.
func (k *keeper) report(object *v1alpha1.NodeRuntime) *v1alpha1.NodeRuntime {
	spec := &object.Spec
	if object.ManagedFields == nil && object.Annotations == nil && spec.Summary == nil {
		return object
	}
	kept := k.lean(object)
	kept.Spec.Handlers = k.handlers.of(leanHandlers(spec.Handlers))
	kept.Spec.Findings = k.findings.of(spec.Findings)
	if spec.Next != nil {
		kept.Spec.Next.Handlers = k.next.of(spec.Next.Handlers)
	}
	return kept
}

// lean returns what is used of a NodeRuntime whose lists are lean.
func (k *keeper) lean(object *v1alpha1.NodeRuntime) *v1alpha1.NodeRuntime {
	spec := &object.Spec
	kept := &v1alpha1.NodeRuntime{
		ObjectMeta: metav1.ObjectMeta{
			Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion, CreationTimestamp: object.CreationTimestamp,
		},
		Spec: v1alpha1.NodeRuntimeSpec{
			Runtime:        v1alpha1.Runtime{Name: unique.Make(spec.Runtime.Name).Value(), StartedAt: spec.Runtime.StartedAt},
			DefaultHandler: unique.Make(spec.DefaultHandler).Value(),
			Handlers:       spec.Handlers,
			CDI:            spec.CDI,
			Source:         v1alpha1.Source(unique.Make(string(spec.Source)).Value()),
			Findings:       spec.Findings,
			ObservedAt:     spec.ObservedAt,
			RenewedAt:      spec.RenewedAt,
		},
	}
	if spec.Next != nil {
		kept.Spec.Next = &v1alpha1.Next{Handlers: spec.Next.Handlers}
	}
	return kept
}

// leanHandlers returns what is used of handlers.
func leanHandlers(all []v1alpha1.Handler) (handlers []v1alpha1.Handler) {
	for _, h := range all {
		handlers = append(handlers, v1alpha1.Handler{Name: h.Name, RuntimeType: unique.Make(h.RuntimeType).Value(), Features: h.Features, Shim: state(h.Shim), Binary: state(h.Binary)})
	}
	return handlers
}

// state is a Program without its path.
func state(p *v1alpha1.Program) *v1alpha1.Program {
	if p == nil {
		return nil
	}
	return &v1alpha1.Program{State: p.State}
}

// maxShared is how many values are looked for: there may be as many as there are
// nodes.
const maxShared = 4096

// shared are values of which equal ones are kept once. They must not be changed.
type shared[T any] struct {
	mu    sync.Mutex
	known map[string]T // by their JSON
	read  map[string]T // by what they were read from
}

// of returns the value that is kept in place of an equal one.
func (s *shared[T]) of(value T) T {
	key, err := json.Marshal(value)
	if err != nil {
		return value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, ok := s.known[string(key)]; ok {
		return kept
	}
	note(&s.known, key, value)
	return value
}

// decoded returns the value that is read from there, decoded once of many.
func (s *shared[T]) decoded(raw []byte, decode func([]byte) (T, error)) (T, error) {
	s.mu.Lock()
	value, ok := s.read[string(raw)]
	s.mu.Unlock()
	if ok {
		return value, nil
	}
	value, err := decode(raw)
	if err != nil {
		return value, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	note(&s.read, raw, value)
	return value, nil
}

// forget drops what values were read from.
func (s *shared[T]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = nil
}

func note[T any](known *map[string]T, key []byte, value T) {
	if len(*known) >= maxShared || *known == nil {
		*known = map[string]T{}
	}
	(*known)[string(key)] = value
}
