package why

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/webhook"
	"github.com/runtimegate/runtimegate/webhook/kubeletevents"
	"github.com/runtimegate/runtimegate/webhook/remedy"
)

// A Question is an object, and what is known of it beside the State of its cluster.
type Question struct {
	// About names the object; its namespace is where it is judged.
	About Object
	// Object is a Pod, a workload or a RuntimeClass.
	Object runtime.Object
	// Refused says why the API server would not take it; without findings if it
	// would.
	Refused webhook.Verdict
	// Events are those of the object, and of what it has made.
	Events []corev1.Event
	// Pods are those that a workload has made and that have not come up.
	Pods []*corev1.Pod
	// Maker is what made a Pod; nil if nothing did.
	Maker *Maker
}

// An asker answers one Question.
type asker struct {
	Question
	gate    *webhook.Gate
	fleet   *fleet.Fleet
	chain   *webhook.Chain
	verdict webhook.Verdict
	groups  []*fleet.Group
	// meanings are those of the answer's Events.
	meanings []*kubeletevents.Meaning
	answer   *Answer
	plans    [][]remedy.Step
}

// Ask answers a Question by a gate and the nodes of the same State at the same
// time; nil if its object asks for nothing.
func Ask(ctx context.Context, gate *webhook.Gate, nodes *fleet.Fleet, q Question) *Answer {
	a := &asker{Question: q, gate: gate, fleet: nodes, chain: gate.Chain(ctx, q.Object)}
	if a.chain == nil {
		return nil
	}
	a.answer = &Answer{Object: q.About, Groups: []Group{}, Events: []Event{}}
	a.judge(ctx)
	a.tellChain()
	a.tellGroups()
	a.readEvents()
	for i := range a.verdict.Findings {
		a.mend(ctx, &a.verdict.Findings[i])
	}
	a.sumUp()
	a.sumUpNodes()
	if !a.isUp() {
		if a.answer.Outcome != Wrong || len(a.plans) == 0 {
			a.mendByEvents()
		}
		a.sumUpEvents()
	}
	a.advise()
	a.answer.Steps = remedy.Plan(a.plans...)
	return a.answer
}

// judge asks the gate. A Pod that is there already has had its class merged into it.
func (a *asker) judge(ctx context.Context) {
	pod, ok := a.Object.(*corev1.Pod)
	switch {
	case len(a.Refused.Findings) > 0:
		a.verdict = a.Refused
	case ok && pod.UID != "":
		a.verdict = a.gate.Pod(ctx, a.About.Namespace, pod)
	default:
		a.verdict, _ = a.gate.Judge(ctx, a.About.Namespace, a.Object)
	}
	a.answer.Verdict = &Verdict{Action: a.verdict.Action().String(), Conditions: []Condition{}}
	for i := range a.verdict.Findings {
		f := &a.verdict.Findings[i]
		a.answer.Verdict.Conditions = append(a.answer.Verdict.Conditions, Condition{string(f.Condition), f.Action.String(), f.Detail})
	}
}

func (a *asker) tellChain() {
	c := a.chain
	told := &Chain{
		Class: c.ClassName, ClassFound: c.Class != nil, Handler: c.Ask.Handler, Bound: c.Bound, Nodes: len(a.fleet.Nodes),
		Candidates: c.Ask.Candidates(), Have: c.Ask.Has.Count, Lack: c.Ask.Lacks.Count, NotKnown: c.Ask.Unknown(),
		NodeSelector: map[string]string{},
	}
	if c.Class != nil && c.Class.Scheduling != nil {
		for key, value := range c.Class.Scheduling.NodeSelector {
			told.NodeSelector[key] = value
		}
	}
	a.answer.Chain = told
}

func (a *asker) tellGroups() {
	if a.chain.Placement == nil {
		return
	}
	a.answer.Chain.Looked = true
	a.groups, a.answer.Chain.RuledOut = a.fleet.Groups(fleet.Landing{Placement: a.chain.Placement, Handler: a.chain.Ask.Handler, Needs: a.chain.Needs})
	for _, g := range a.groups {
		told := Group{
			Place: string(g.Place), Taint: g.Taint, Runtime: g.Runtime, Freshness: string(g.Freshness), Doubt: string(g.Doubt), State: string(g.State),
			Down: g.Down, NotReady: g.Unready, Cordoned: g.Cordoned, Written: g.Written, Next: g.Next, Loaded: g.Loaded, Runnable: g.Runnable, Count: g.Count, Findings: newFindings(g.Findings),
		}
		for _, n := range g.Nodes {
			told.Nodes = append(told.Nodes, n.Name)
		}
		a.answer.Groups = append(a.answer.Groups, told)
	}
}

// IsUp says whether a Pod has come up, so that no Event of it tells what keeps it.
func IsUp(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodSucceeded
}

// isUp is IsUp of the object, if that is a Pod.
func (a *asker) isUp() bool {
	pod, ok := a.Object.(*corev1.Pod)
	return ok && IsUp(pod)
}

// sumUp decides on the outcome.
func (a *asker) sumUp() {
	outcome, summary := Fine, a.fine()
	for i := range a.verdict.Findings {
		f := &a.verdict.Findings[i]
		switch {
		case f.Action == webhook.Allow:
		case a.isDoubt(f):
			if outcome == Fine {
				outcome, summary = Unknown, f.Detail
			}
		case outcome != Wrong:
			outcome, summary = Wrong, f.Detail
		}
	}
	if down := a.chain.Ask.Down; outcome == Fine && down.Count > 0 {
		outcome, summary = Unknown, fmt.Sprintf("%s; the runtime of %s does not answer", summary, down)
		a.mendSilent()
	}
	if outcome != Fine && a.isUp() {
		summary = "it runs; made anew: " + summary
	}
	a.answer.Outcome, a.answer.Summary = outcome, summary
}

// sumUpEvents lets Events count where nothing else is known to be wrong.
func (a *asker) sumUpEvents() {
	if a.answer.Outcome == Wrong {
		return
	}
	for i, e := range a.answer.Events {
		if !isJudged(a.meanings[i].Cause) && !e.Past {
			a.answer.Outcome, a.answer.Summary = Wrong, fmt.Sprintf("%s: %s", e.On, e.Meaning)
			return
		}
	}
}

// isJudged says whether the verdict of now says what an Event said then.
func isJudged(cause kubeletevents.Cause) bool {
	return cause == kubeletevents.Denied || cause == kubeletevents.ClassNotFound || cause == kubeletevents.ClassConflict
}

// isDoubt says whether a finding is that something is not known.
func (a *asker) isDoubt(f *webhook.Finding) bool {
	return f.Condition == webhook.Unknown || f.Condition == webhook.Partial && a.chain.Ask.Lacks.Count == 0
}

// fine says in a sentence that nothing is wrong.
func (a *asker) fine() string {
	ask := &a.chain.Ask
	_, isClass := a.Object.(*nodev1.RuntimeClass)
	where := "it may land on"
	if isClass {
		where = "that the class selects"
	}
	if ask.Handler == "" {
		text := fmt.Sprintf("the default handler of each node: nothing is known to be wrong with it on %s %s", all(ask.Candidates()), where)
		if len(ask.Standards) > 1 {
			text += "; it is not the same on all: " + strings.Join(ask.Standards, ", ")
		}
		return text
	}
	on := all(ask.Candidates())
	if down := ask.Down.Count; down > 0 {
		on = fmt.Sprintf("%d of the %s", ask.Candidates()-down, nodes(ask.Candidates()))
	}
	return fmt.Sprintf("handler %q is loaded on %s %s", ask.Handler, on, where) + a.unlooked()
}

// unlooked says that nobody looked at the handler's programs, which a reporter does
// only if it may see the folders of the host.
func (a *asker) unlooked() string {
	for _, g := range a.candidates() {
		if g.Loaded == fleet.Yes && g.Runnable == fleet.NotKnown {
			return notLooked
		}
	}
	return ""
}

// notLooked is what a summary says of programs that nobody looked at.
const notLooked = "; nobody looked whether its shim and OCI runtime are there (reporter.hostRoot)"

// all are all of n nodes.
func all(n int) string {
	if n == 1 {
		return "the only node"
	}
	return fmt.Sprintf("all of the %d nodes", n)
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
