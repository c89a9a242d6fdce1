package why

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/runtimegate/runtimegate/webhook/remedy"
)

// A Maker is what a Pod is made by.
type Maker struct {
	Kind, Name string
	// Anew: what owns the Pod is known to make it anew when it is deleted.
	Anew bool
	// Object has the template; nil if it was not read.
	Object runtime.Object
}

func (m *Maker) String() string { return fmt.Sprintf("%s %q", m.Kind, m.Name) }

// rebind plans how a Pod that is bound to a node gets to those that have the
// handler. A class is merged into a Pod when that is made: so what narrows comes
// before what makes it anew. It is false if the node itself is to be mended.
func (a *asker) rebind(ctx context.Context) bool {
	pod, isPod := a.Object.(*corev1.Pod)
	anew := fmt.Sprintf("it may land on %s then; the handler is on %d of them: %s", nodes(a.chain.Anew.Candidates()), a.chain.Anew.Has.Count, a.chain.Anew.Has)
	if isPod && pod.Annotations[corev1.MirrorPodAnnotationKey] != "" {
		a.plan(remedy.Step{Phase: remedy.Change, On: a.chain.Bound, Do: fmt.Sprintf("The kubelet makes this Pod from a manifest on the node, and again when it is deleted: move the manifest to a node that has the handler (%s), or have it name another class.", a.chain.Anew.Has),
			Run: []string{"grep staticPodPath /var/lib/kubelet/config.yaml", "ls -l /etc/kubernetes/manifests"}})
		return false
	}
	first := "Delete"
	if a.chain.Anew.Has.Count < a.chain.Anew.Candidates() {
		a.narrow(a.chain.Anew)
		first = "Only then delete"
	}
	switch {
	case !isPod:
		a.unpin(&Maker{Kind: a.About.Kind, Name: a.About.Name}, anew)
	case pod.UID == "":
		a.change(fmt.Sprintf("Take nodeName out of the manifest: %s.", anew))
	case a.isUp():
		a.change(fmt.Sprintf("Leave the Pod, which runs on %s. When it is made anew: %s.", a.chain.Bound, anew))
	case pod.DeletionTimestamp != nil:
		a.change(fmt.Sprintf("The Pod is being deleted from %s already. If it is made anew: %s.", a.chain.Bound, anew))
	case a.Maker == nil || !a.Maker.Anew:
		a.save(pod, anew)
	case a.Maker.Object == nil:
		a.change(fmt.Sprintf("See that the template of %s, which was not read, has no nodeName. If so: delete the Pod, which is bound to %s, to have it made anew; %s.", a.Maker, a.chain.Bound, anew),
			fmt.Sprintf("kubectl get %s %s -n %s -o yaml | grep nodeName", strings.ToLower(a.Maker.Kind), a.Maker.Name, a.About.Namespace))
	default:
		if c := a.gate.Chain(ctx, a.Maker.Object); c != nil && c.Bound != "" {
			a.unpin(a.Maker, anew)
			break
		}
		a.change(fmt.Sprintf("%s the Pod, which is bound to %s: %s makes it anew; %s.", first, a.chain.Bound, a.Maker, anew),
			fmt.Sprintf("kubectl delete pod %s -n %s", pod.Name, a.About.Namespace))
	}
	return true
}

// unpin plans to take the nodeName out of a template: whatever is made from it
// comes to the same node again.
func (a *asker) unpin(m *Maker, anew string) {
	if m.Kind == "Job" {
		a.change(fmt.Sprintf("The template of %s has nodeName %s, and cannot be changed: make the Job anew without it; %s.", m, a.chain.Bound, anew))
		return
	}
	after := anew
	if m.Kind == "ReplicaSet" || m.Kind == "ReplicationController" {
		after += ". Pods that are there stay until they are deleted"
	}
	a.change(fmt.Sprintf("Take nodeName %s out of the template of %s: %s.", a.chain.Bound, m, after),
		fmt.Sprintf("kubectl edit %s %s -n %s", strings.ToLower(m.Kind), m.Name, a.About.Namespace))
}

// save plans to make a Pod anew that nothing else is known to make.
func (a *asker) save(pod *corev1.Pod, anew string) {
	who := "Nothing makes this Pod anew if it is deleted"
	if a.Maker != nil {
		who = fmt.Sprintf("It is not known whether %s makes this Pod anew if it is deleted", a.Maker)
	}
	a.change(fmt.Sprintf("%s: save its manifest; take metadata.resourceVersion, metadata.uid, spec.nodeName (%s) and status out of it; then put it in the Pod's place. What it has in emptyDir volumes is lost; %s.", who, a.chain.Bound, anew),
		fmt.Sprintf("kubectl get pod %s -n %s -o yaml > %s.yaml", pod.Name, a.About.Namespace, pod.Name),
		fmt.Sprintf("kubectl replace --force -f %s.yaml   # only after it was edited", pod.Name))
}

// selectorOf is where the object has its nodeSelector.
func (a *asker) selectorOf() string {
	pod, isPod := a.Object.(*corev1.Pod)
	switch {
	case isPod && pod.UID != "" && a.Maker != nil:
		return "nodeSelector in the template of " + a.Maker.String()
	case isPod && pod.Spec.NodeName != "" && pod.UID != "":
		return "nodeSelector in the Pod's manifest"
	}
	return "nodeSelector of the Pod"
}
