package why

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// daemonSet is the DaemonSet that the object is, or a Pod of; "" for all else. Its
// controller makes a Pod for each node that the template picks, and knows nothing of
// what a RuntimeClass adds to it (kubernetes 1.37, NodeShouldRunDaemonPod).
func (a *asker) daemonSet() string {
	if a.About.Kind == "DaemonSet" {
		return a.About.Name
	}
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return ""
	}
	if ref := metav1.GetControllerOf(pod); ref != nil && ref.Kind == "DaemonSet" {
		return ref.Name
	}
	return ""
}

// isOfDaemonSet says whether the object is a Pod of a DaemonSet.
func (a *asker) isOfDaemonSet() bool { return a.About.Kind == "Pod" && a.daemonSet() != "" }

// only says what to set so that only nodes with the handler are picked.
func (a *asker) only(labels []string) string {
	if len(labels) == 0 {
		return "give nodes that have the handler a label, and set that"
	}
	return "set what only nodes with the handler are labelled (" + strings.Join(labels, ", or ") + ")"
}

// tolerationsAt says where tolerations are to be written.
func (a *asker) tolerationsAt() string {
	if set := a.daemonSet(); set != "" {
		return fmt.Sprintf("in the template of DaemonSet %q, whose controller does not look at its RuntimeClass", set)
	}
	return fmt.Sprintf("in the Pod or better in scheduling.tolerations of RuntimeClass %q", a.chain.ClassName)
}

// keepOff plans to keep a DaemonSet off nodes without the handler, for where they are
// not to have it: its Pods are made for one node each, and can't land elsewhere.
func (a *asker) keepOff() {
	set := a.daemonSet()
	a.change(fmt.Sprintf("DaemonSet %q made this Pod for %s, which it is bound to by its affinity: it can't land elsewhere. If that node is to have the handler, mend the node as below; else %s as nodeSelector in the template of the DaemonSet.",
		set, nodesOf(a.candidates()), a.only(a.fleet.Labels(a.chain.Ask.Handler))), fmt.Sprintf("kubectl edit daemonset %s -n %s", set, a.About.Namespace))
}
