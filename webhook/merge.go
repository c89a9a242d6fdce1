package webhook

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// MergeClass does to a Pod's spec what the API server's RuntimeClass admission
// does when the Pod is created (kubernetes 1.37,
// plugin/pkg/admission/runtimeclass), and returns the reason for which it would
// reject it. The spec must be the caller's own; class is nil when the spec names
// none.
//
// Tolerations that others make redundant are kept: they tolerate no more.
func MergeClass(spec *corev1.PodSpec, class *nodev1.RuntimeClass) error {
	if class == nil {
		if spec.Overhead != nil {
			return errors.New("overhead is set without a RuntimeClass; leave overhead out")
		}
		return nil
	}
	if err := mergeOverhead(spec, class); err != nil {
		return err
	}
	if class.Scheduling == nil {
		return nil
	}
	for _, key := range sortedKeys(class.Scheduling.NodeSelector) {
		want := class.Scheduling.NodeSelector[key]
		if have, ok := spec.NodeSelector[key]; ok && have != want {
			return fmt.Errorf("nodeSelector %s=%s conflicts with %s=%s of RuntimeClass %q", key, have, key, want, class.Name)
		}
		if spec.NodeSelector == nil {
			spec.NodeSelector = map[string]string{}
		}
		spec.NodeSelector[key] = want
	}
	spec.Tolerations = append(slices.Clip(spec.Tolerations), class.Scheduling.Tolerations...)
	return nil
}

func mergeOverhead(spec *corev1.PodSpec, class *nodev1.RuntimeClass) error {
	switch {
	case class.Overhead == nil && spec.Overhead != nil:
		return fmt.Errorf("overhead is set, but RuntimeClass %q defines none; leave overhead out", class.Name)
	case class.Overhead == nil:
		return nil
	case len(spec.Overhead) > 0 && !equality.Semantic.DeepEqual(spec.Overhead, class.Overhead.PodFixed):
		return fmt.Errorf("overhead is not that of RuntimeClass %q; leave overhead out", class.Name)
	}
	spec.Overhead = class.Overhead.PodFixed
	return nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
