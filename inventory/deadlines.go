package inventory

import (
	"container/heap"
	"time"
)

// A deadline is when a node is to be looked at, because its state changes by
// itself: its report becomes too old, or it is no longer new.
type deadline struct {
	at   time.Time
	node *node
}

// deadlines is a heap, the next one on top. A heartbeat, which puts off what is
// due, leaves the heap alone: the node is looked at too early, and then again.
type deadlines []deadline

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d deadlines) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *deadlines) Push(one any)      { *d = append(*d, one.(deadline)) }
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	one := (*d)[last]
	(*d)[last] = deadline{}
	*d = (*d)[:last]
	return one
}

// expire touches the nodes that are due at the time now.
func (x *Index) expire(now time.Time) {
	for len(x.deadlines) > 0 && !x.deadlines[0].at.After(now) {
		one := heap.Pop(&x.deadlines).(deadline)
		if one.node.gone || !one.node.due.Equal(one.at) {
			continue
		}
		one.node.due = time.Time{}
		x.touch(one.node)
	}
}

// remind sees to it that a node is looked at when its state changes next.
func (x *Index) remind(n *node, next time.Time) {
	if next.IsZero() || !n.due.IsZero() && !next.Before(n.due) {
		return
	}
	n.due = next
	heap.Push(&x.deadlines, deadline{next, n})
}

// rewind touches all nodes: the time has gone backwards, over changes that have
// been made already.
func (x *Index) rewind() {
	x.deadlines, x.from = nil, time.Time{}
	for _, n := range x.nodes {
		n.due = time.Time{}
		x.touch(n)
	}
}
