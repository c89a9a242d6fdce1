package inventory

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StripNode returns what the index uses of a Node, so that a cache need not
// keep the rest. The result shares memory with the argument.
func StripNode(node *corev1.Node) *corev1.Node {
	stripped := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              node.Name,
			UID:               node.UID,
			ResourceVersion:   node.ResourceVersion,
			CreationTimestamp: node.CreationTimestamp,
			Labels:            node.Labels,
		},
		Spec: corev1.NodeSpec{Taints: node.Spec.Taints},
		Status: corev1.NodeStatus{
			Allocatable:     node.Status.Allocatable,
			RuntimeHandlers: node.Status.RuntimeHandlers,
			Features:        node.Status.Features,
		},
	}
	for _, condition := range node.Status.Conditions {
		switch condition.Type {
		case corev1.NodeReady:
			kept := corev1.NodeCondition{Type: condition.Type, Status: condition.Status}
			if kept.Status != corev1.ConditionTrue { // of these there are few, and "why" tells of them
				kept.LastTransitionTime, kept.Reason, kept.Message = condition.LastTransitionTime, condition.Reason, condition.Message
			}
			stripped.Status.Conditions = append(stripped.Status.Conditions, kept)
		case HandlersReady:
			stripped.Status.Conditions = append(stripped.Status.Conditions, condition)
		}
	}
	return stripped
}

// A node is what the index keeps of one node: its name, its times, and what it
// has in common with others.
type node struct {
	name string
	// slot is its place in lists of all nodes.
	slot int32
	// touched: it is to be looked at before the next snapshot. renamed: so it is in
	// the lists by name and value. gone: it has been deleted.
	touched, renamed, gone bool

	created time.Time
	labels  *pooled[labelSet]
	own     []string // its values of the naming keys
	taints  *pooled[taintList]
	room    *pooled[room]
	listing *pooled[listing]
	// report is nil if there is no NodeRuntime.
	report  *pooled[reported]
	renewed time.Time

	// group is where it is in the last snapshot; nil if it is not in it.
	group *group
	// due is when it is looked at next, because its state changes by itself.
	due time.Time
}

// isYoung says whether installers may still be at work on the node.
func (n *node) isYoung(now time.Time, o *Options) bool {
	return now.Sub(n.created) < o.NodeSettle
}

// maxClockSkew is how far the clock of a node may be ahead. A report from
// further in the future would count for as long, whatever becomes of the node.
const maxClockSkew = 5 * time.Minute

// isCurrent says whether there is a report that is neither too old nor from the
// future, and not of an earlier node of the same name.
func (n *node) isCurrent(now time.Time, o *Options) bool {
	age := now.Sub(n.renewed)
	return n.report != nil && age <= o.StaleAfter && age >= -maxClockSkew && !n.renewed.Before(n.created)
}

// changes are the times at which isYoung or isCurrent change their answers: the
// last one up to now and the next one after it; zero for none.
func (n *node) changes(now time.Time, o *Options) (last, next time.Time) {
	times := [...]time.Time{n.created.Add(o.NodeSettle), n.renewed.Add(-maxClockSkew), n.renewed.Add(o.StaleAfter + 1)}
	all := times[:1]
	if n.report != nil && !n.renewed.Before(n.created) {
		all = times[:]
	}
	for _, at := range all {
		switch {
		case !at.After(now):
			last = later(last, at)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return last, next
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
