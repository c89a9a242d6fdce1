package inventory

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A listing is what a Node says of its handlers.
type listing struct {
	// handlers are those of Node.status.runtimeHandlers, sorted; nil when the
	// runtime does not tell the kubelet (containerd before 2.0).
	handlers []string
	// offers are the features of the listed handlers; "" stands for the default
	// one.
	offers map[string]offers
	// groups is what the kubelet tells of SupplementalGroupsPolicy.
	groups offers
	ready  bool
}

// takeListing returns the listing of a Node.
func (x *Index) takeListing(status *corev1.NodeStatus) *pooled[listing] {
	// In the order of their names: containerd 2.1.0 tells them in any order.
	handlers := append(x.handlers[:0], status.RuntimeHandlers...)
	slices.SortStableFunc(handlers, func(a, b corev1.NodeRuntimeHandler) int { return strings.Compare(a.Name, b.Name) })
	s := x.signature[:0].flag(isReady(status)).number(int64(len(handlers)))
	for i := range handlers {
		handler := &handlers[i]
		s = s.text(handler.Name).flag(handler.Features != nil)
		if f := handler.Features; f != nil {
			s = s.option(f.UserNamespaces).option(f.RecursiveReadOnlyMounts)
		}
	}
	s = s.flag(status.Features != nil)
	if status.Features != nil {
		s = s.option(status.Features.SupplementalGroupsPolicy)
	}
	x.handlers, x.signature = handlers, s
	return x.listings.take(s, func() listing { return listingOf(status) })
}

func listingOf(status *corev1.NodeStatus) listing {
	l := listing{offers: map[string]offers{}, ready: isReady(status)}
	for _, handler := range status.RuntimeHandlers {
		// "" stands for the default handler; a list of nothing else names none.
		if handler.Name != "" {
			l.handlers = append(l.handlers, handler.Name)
		}
		var told offers
		if features := handler.Features; features != nil {
			told.say(UserNamespaces, features.UserNamespaces)
			told.say(RecursiveReadOnlyMounts, features.RecursiveReadOnlyMounts)
		}
		l.offers[handler.Name] = told
	}
	if features := status.Features; features != nil {
		l.groups.say(SupplementalGroupsPolicy, features.SupplementalGroupsPolicy)
	}
	slices.Sort(l.handlers)
	l.handlers = slices.Compact(l.handlers)
	return l
}

func isReady(status *corev1.NodeStatus) bool {
	ready := true
	for _, condition := range status.Conditions {
		if condition.Type == corev1.NodeReady {
			ready = condition.Status == corev1.ConditionTrue
		}
	}
	return ready
}
