package webhook

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// Objects returns the objects of the State, from which the same State can be made
// again; of Nodes and Namespaces no more than verdicts depend on. They must not be
// changed.
func (s *State) Objects() []client.Object {
	var all []client.Object
	add := func(object client.Object, kind schema.GroupVersionKind) {
		object.SetManagedFields(nil)
		object.GetObjectKind().SetGroupVersionKind(kind)
		all = append(all, object)
	}
	for _, name := range sortedNames(s.nodes) {
		add(s.nodes[name].DeepCopy(), corev1.SchemeGroupVersion.WithKind("Node"))
	}
	for _, name := range sortedNames(s.reports) {
		add(s.reports[name].DeepCopy(), v1alpha1.GroupVersion.WithKind("NodeRuntime"))
	}
	for _, name := range sortedNames(s.classes) {
		add(s.classes[name].DeepCopy(), nodev1.SchemeGroupVersion.WithKind("RuntimeClass"))
	}
	for _, name := range sortedNames(s.written) {
		add(s.written[name].DeepCopy(), v1alpha1.GroupVersion.WithKind("RuntimePolicy"))
	}
	for _, name := range sortedNames(s.namespaces) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: s.namespaces[name]}}
		add(namespace, corev1.SchemeGroupVersion.WithKind("Namespace"))
	}
	return all
}
