package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	nodev1 "k8s.io/api/node/v1"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook"
	"github.com/runtimegate/runtimegate/webhook/remedy"
)

// site is what a remedy needs to know of a group.
func site(g *fleet.Group, handler string) remedy.Site {
	n := g.Nodes[0]
	if handler == "" {
		handler = n.Default()
	}
	s := remedy.Site{
		Nodes: g.Sample(), Handler: handler, Runtime: siteRuntime(n), Down: n.IsDown(), NotReady: notReady(n), Settled: n.SettledAt(),
		Default: handler == n.Default() && handler != "",
		Loaded:  n.Freshness == inventory.Fresh && slices.Contains(n.Loaded(), handler),
	}
	if n.Report == nil {
		return s
	}
	s.Answered = n.Report.Spec.ObservedAt.Time
	at := slices.IndexFunc(n.Report.Spec.Handlers, func(h v1alpha1.Handler) bool { return h.Name == handler })
	if at < 0 {
		return s
	}
	s.Origin = n.Report.Spec.Handlers[at].Origin
	s.Unlooked = n.Truth(handler).Runnable == fleet.NotKnown
	for _, p := range []*v1alpha1.Program{n.Report.Spec.Handlers[at].Shim, n.Report.Spec.Handlers[at].Binary} {
		if p != nil && p.Path != "" && (p.State == v1alpha1.ProgramNotFound || p.State == v1alpha1.ProgramNotExecutable) {
			s.Missing = append(s.Missing, *p)
		}
	}
	return s
}

func siteRuntime(n *fleet.Node) v1alpha1.Runtime {
	r := v1alpha1.Runtime{Name: n.Runtime, Version: n.Version}
	if n.Report != nil {
		r.Endpoint = n.Report.Spec.Runtime.Endpoint
	}
	return r
}

// notReady says since when and why a node is not Ready; "" if it is.
func notReady(n *fleet.Node) string {
	c := n.Unready()
	if c == nil {
		return ""
	}
	text := "NotReady"
	if !c.LastTransitionTime.IsZero() {
		text += " since " + c.LastTransitionTime.UTC().Format(time.RFC3339)
	}
	why := strings.TrimSuffix(strings.Join(strings.Fields(c.Reason+": "+c.Message), " "), ".")
	if why = strings.Trim(why, ": "); why != "" {
		text += " (" + why + ")"
	}
	return text
}

// candidates are the groups that the object may land on.
func (a *asker) candidates() (groups []*fleet.Group) {
	for _, g := range a.groups {
		if g.Place == fleet.Candidate {
			groups = append(groups, g)
		}
	}
	return groups
}

// sumUpNodes lets the state of the nodes count where the verdict goes by what they
// had, or waits: no Pod starts where the runtime is down, nor with a handler that is
// lost.
func (a *asker) sumUpNodes() {
	a.sumUpCordons()
	groups := a.candidates()
	down := slices.DeleteFunc(slices.Clone(groups), func(g *fleet.Group) bool { return !g.Down })
	refused := slices.ContainsFunc(a.verdict.Findings, func(f webhook.Finding) bool {
		return f.Condition == webhook.Rejected || f.Condition == webhook.Forbidden
	})
	switch {
	case refused:
		return
	case len(down) > 0 && len(down) == len(groups):
		for _, g := range groups {
			a.mendUntold(g)
		}
		a.answer.Outcome, a.answer.Summary = Wrong, downText(groups)
	case a.answer.Outcome == Wrong && len(down) > 0:
		a.answer.Summary += fmt.Sprintf("; the runtime of %s does not answer", nodesOf(down))
		return
	case a.answer.Outcome == Unknown && len(groups) > 0 && !slices.ContainsFunc(groups, func(g *fleet.Group) bool { return g.State != inventory.Lost }):
		a.answer.Outcome, a.answer.Summary = Wrong, a.lostText(groups)
	default:
		if len(groups) > 0 && !slices.ContainsFunc(groups, func(g *fleet.Group) bool { return !g.Unready }) {
			n := groups[0].Nodes[0]
			a.answer.Summary += fmt.Sprintf("; %s is %s", n.Name, notReady(n))
		}
		return
	}
	if a.isUp() {
		a.answer.Summary = "it runs; made anew: " + a.answer.Summary
	}
}

// sumUpCordons tells of nodes that let no new Pod in, where no other is left.
func (a *asker) sumUpCordons() {
	groups := a.candidates()
	_, isClass := a.Object.(*nodev1.RuntimeClass)
	open := slices.ContainsFunc(groups, func(g *fleet.Group) bool { return !g.Cordoned })
	if isClass || open || len(groups) == 0 || a.chain.Bound != "" || a.daemonSet() != "" {
		return
	}
	for _, g := range groups {
		a.plans = append(a.plans, remedy.ForCordon(site(g, a.chain.Ask.Handler)))
	}
	text := fmt.Sprintf("%s is cordoned: no new Pod is put there", nodesOf(groups))
	if a.answer.Outcome == Fine {
		a.answer.Outcome, a.answer.Summary = Wrong, text
		return
	}
	a.answer.Summary += "; " + text
}

// downText says that the runtime of some nodes does not answer.
func downText(groups []*fleet.Group) string {
	nodes := nodesOf(groups)
	n := groups[0].Nodes[0]
	text := fmt.Sprintf("the runtime of %s does not answer", nodes)
	if report := n.Report; nodes.Count == 1 && !report.Spec.ObservedAt.IsZero() {
		text += ", and last did at " + report.Spec.ObservedAt.UTC().Format(time.RFC3339)
	}
	switch why := notReady(n); {
	case why == "":
	case nodes.Count == 1:
		text += "; the node is " + why
	default:
		text += fmt.Sprintf("; %s is %s", n.Name, why)
	}
	return text + ": no Pod can start there"
}

// lostText says that nodes have lost the handler, and what the webhook makes of new
// ones.
func (a *asker) lostText(groups []*fleet.Group) string {
	text := fmt.Sprintf("handler %q was loaded on %s before the last start of the runtime, and is not any more", a.chain.Ask.Handler, nodesOf(groups))
	if until := groups[0].Nodes[0].SettledAt(); !until.IsZero() {
		text += fmt.Sprintf("; the node is new, so that the webhook lets its Pods in until %s", until.UTC().Format(time.RFC3339))
	}
	return text
}

func nodesOf(groups []*fleet.Group) inventory.Nodes {
	all := &fleet.Group{}
	for _, g := range groups {
		all.Nodes = append(all.Nodes, g.Nodes...)
	}
	slices.SortFunc(all.Nodes, func(a, b *fleet.Node) int { return strings.Compare(a.Name, b.Name) })
	return all.Sample()
}
