package why

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook"
	"github.com/runtimegate/runtimegate/webhook/remedy"
)

// AskNode answers for a node; nil if there is none of that name.
func AskNode(ctx context.Context, gate *webhook.Gate, nodes *fleet.Fleet, name string) *Answer {
	n := nodes.Node(name)
	if n == nil {
		return nil
	}
	a := &Answer{
		Object: Object{APIVersion: "v1", Kind: "Node", Name: name}, Groups: []Group{}, Events: []Event{},
		Node: &Node{Runtime: n.Runtime, Version: n.Version, Freshness: string(n.Freshness), DefaultHandler: n.Default()},
	}
	if n.Report != nil {
		a.Node.Endpoint = n.Report.Spec.Runtime.Endpoint
		if !n.Report.Spec.ObservedAt.IsZero() {
			a.Node.ObservedAt = utc(n.Report.Spec.ObservedAt.Time)
		}
		a.Node.RenewedAt = utc(n.Report.Spec.RenewedAt.Time)
		if started := n.Report.Spec.Runtime.StartedAt; started != nil {
			a.Node.StartedAt = utc(started.Time)
		}
	}
	a.Node.Down, a.Node.NotReady, a.Node.Cordoned = n.IsDown(), notReady(n), n.IsCordoned()
	a.Node.Handlers = handlersOf(ctx, gate, n)
	plans := a.tellFindings(n)
	a.sumUpNode(n)
	alone := site(&fleet.Group{Nodes: []*fleet.Node{n}}, "")
	switch {
	case a.Node.Down:
	case n.Freshness != inventory.Fresh:
		plans = append(plans, remedy.ForSilence(n.Freshness, alone))
	case a.Node.NotReady != "":
		plans = append(plans, remedy.ForUnready(alone))
	}
	lacks := slices.ContainsFunc(a.Node.Handlers, func(h Handler) bool { return h.Loaded != fleet.Yes })
	if !alone.Settled.IsZero() && n.Freshness == inventory.Fresh && lacks && !a.Node.Down {
		plans = append(plans, remedy.ForYoung(alone))
	}
	if a.Node.Cordoned {
		plans = append(plans, remedy.ForCordon(alone))
	}
	a.Steps = remedy.Plan(plans...)
	return a
}

func utc(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

// handlersOf are the handlers that the node has or would have, and those that
// RuntimeClasses name.
func handlersOf(ctx context.Context, gate *webhook.Gate, n *fleet.Node) []Handler {
	classes := map[string][]string{}
	names := n.Loaded()
	for _, class := range gate.Classes(ctx) {
		classes[class.Handler] = append(classes[class.Handler], class.Name)
		names = append(names, class.Handler)
	}
	if n.Freshness == inventory.Fresh {
		for i := range n.Report.Spec.Handlers { // of a runtime that is down these are not loaded
			names = append(names, n.Report.Spec.Handlers[i].Name)
		}
		if next := n.Report.Spec.Next; next != nil {
			names = append(names, next.Handlers...)
		}
	}
	slices.Sort(names)
	handlers := []Handler{}
	for _, name := range slices.Compact(names) {
		t := n.Truth(name)
		h := Handler{Name: name, Classes: append([]string{}, classes[name]...), State: string(t.State), Written: t.Written, Next: t.Next, Loaded: t.Loaded, Runnable: t.Runnable}
		if n.Freshness == inventory.Fresh {
			for i := range n.Report.Spec.Handlers {
				if n.Report.Spec.Handlers[i].Name == name {
					h.Origin = n.Report.Spec.Handlers[i].Origin
				}
			}
		}
		handlers = append(handlers, h)
	}
	return handlers
}

// tellFindings tells each finding with what mends it, and returns these remedies.
func (a *Answer) tellFindings(n *fleet.Node) (plans [][]remedy.Step) {
	a.Node.Findings = newFindings(n.Findings())
	g := &fleet.Group{Nodes: []*fleet.Node{n}}
	for i, f := range n.Findings() {
		steps := remedy.ForFinding(f, site(g, f.Handler))
		a.Node.Findings[i].Steps = remedy.Plan(steps)
		if f.Severity != v1alpha1.SeverityInfo {
			plans = append(plans, steps)
		}
	}
	return plans
}

func (a *Answer) sumUpNode(n *fleet.Node) {
	a.Outcome, a.Summary = Fine, "all that its runtime has loaded is as it should be"
	if slices.ContainsFunc(a.Node.Handlers, func(h Handler) bool { return h.Loaded == fleet.Yes && h.Runnable == fleet.NotKnown }) {
		a.Summary = "nothing is known to be wrong with what its runtime has loaded; nobody looked whether all shims and OCI runtimes are there (reporter.hostRoot)"
	}
	if n.Freshness != inventory.Fresh {
		a.Outcome, a.Summary = Unknown, fmt.Sprintf("what its runtime has loaded is known %s", map[inventory.Freshness]string{
			inventory.Stale: "no more: its report is too old", inventory.Kubelet: "by its kubelet's list only: it has no report",
			inventory.Young: "not yet: the node is new", inventory.Silent: "to nobody: it has no report",
		}[n.Freshness])
	}
	if a.Node.Cordoned {
		a.Summary += "; it is cordoned: no new Pod is put there"
	}
	switch {
	case a.Node.Down:
		a.Outcome, a.Summary = Wrong, downText([]*fleet.Group{{Nodes: []*fleet.Node{n}}})
		return
	case a.Node.NotReady != "" && n.Freshness == inventory.Fresh:
		a.Outcome, a.Summary = Wrong, "the node is "+a.Node.NotReady+"; its runtime answers, and "+a.Summary
	case a.Node.NotReady != "":
		a.Summary += "; it is " + a.Node.NotReady
	}
	for _, f := range a.Node.Findings {
		if f.Severity != v1alpha1.SeverityInfo { // the gravest is the first
			a.Outcome, a.Summary = Wrong, f.Message
			return
		}
	}
}
