package webhook

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/runtimegate/runtimegate/inventory"
)

// A Chain is the way from an object to the nodes, as its verdict goes it.
type Chain struct {
	// ClassName is the RuntimeClass that the object names, or is; empty for none.
	ClassName string
	// Class is that class, nil if there is none of that name or it is not known.
	Class *nodev1.RuntimeClass
	// Unread says why it is not known; nil if it is, or is known not to be there.
	Unread error
	// Ask is what is asked for. One without a handler asks for the default one.
	Ask PodAsk
	// Placement is where Pods may land, and Needs what they need of the handler. It
	// is nil where the API server rejects the Pods: then nothing is asked for.
	Placement *inventory.Placement
	Needs     inventory.Features
	// Bound is the node to which the Pod is bound already, and Anew what it would
	// find if it were made anew.
	Bound string
	Anew  inventory.Coverage
}

// Chain returns the Chain of a Pod, a workload or a RuntimeClass; nil for other
// objects.
func (g *Gate) Chain(ctx context.Context, object runtime.Object) *Chain {
	if class, ok := object.(*nodev1.RuntimeClass); ok {
		c := &Chain{ClassName: class.Name, Class: class, Ask: PodAsk{Ask: askOf(class)}}
		var selector map[string]string
		if class.Scheduling != nil {
			selector = class.Scheduling.NodeSelector
		}
		c.place(g, inventory.ClassPlacement(selector, nil, true), 0)
		return c
	}
	var pod *corev1.Pod
	if p, ok := object.(*corev1.Pod); ok {
		pod = p.DeepCopy()
	} else if template := templateOf(object); template != nil {
		pod = &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: *template.Spec.DeepCopy()}
	} else {
		return nil
	}
	return g.podChain(ctx, pod)
}

func (g *Gate) podChain(ctx context.Context, pod *corev1.Pod) *Chain {
	c := &Chain{}
	if name := pod.Spec.RuntimeClassName; name != nil {
		c.ClassName = *name
	}
	if c.ClassName != "" {
		class, err := g.Class(ctx, c.ClassName)
		switch {
		case err == nil:
			c.Class = class
			c.Ask = PodAsk{Ask: askOf(class)}
		case !apierrors.IsNotFound(err):
			c.Unread = err
			return c
		default:
			return c
		}
	}
	if pod.Annotations[UntrustedAnnotation] == "true" && c.ClassName == "" {
		c.Ask = PodAsk{Ask: Ask{Handler: UntrustedHandler}}
	}
	inventory.DefaultRequests(&pod.Spec)
	merged := pod.Spec.DeepCopy()
	switch err := MergeClass(merged, c.Class); {
	case err == nil:
		pod.Spec = *merged
	case pod.UID == "":
		return c
	}
	c.place(g, inventory.PlacementOf(pod), inventory.FeaturesOf(&pod.Spec))
	if c.Bound = pod.Spec.NodeName; c.Bound != "" {
		pod.Spec.NodeName = ""
		c.Anew = g.Index.Coverage(inventory.PlacementOf(pod), c.Ask.Handler, c.Needs, g.Now())
	}
	return c
}

func (c *Chain) place(g *Gate, placement *inventory.Placement, needs inventory.Features) {
	now := g.Now()
	c.Placement, c.Needs = placement, needs
	c.Ask.Coverage = g.Index.Coverage(placement, c.Ask.Handler, needs, now)
	c.Ask.Known = g.Index.Loaded(now)
}

// Nearest is the handler that was probably meant, "" if no mistake in the name is
// likely.
func (c *Chain) Nearest() string { return c.Ask.nearest() }

// NearClasses says which class was probably meant by one that is not there; "" if
// none comes near.
func (g *Gate) NearClasses(ctx context.Context, name string) string {
	return nearClass(name, g.Classes(ctx))
}
