package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A PodsScope says which Pods the webhook's configuration sends.
type PodsScope string

// The scopes.
const (
	// ScopeClass: Pods that choose a handler, by a RuntimeClass or by
	// UntrustedAnnotation, or that need a feature of theirs.
	ScopeClass PodsScope = "Class"
	// ScopeAll: all Pods.
	ScopeAll PodsScope = "All"
)

// includes says whether the webhook is asked about a Pod.
func (s PodsScope) includes(pod *corev1.Pod) bool {
	return s == ScopeAll || asksOfRuntime(pod)
}

// A reason is why a policy would deny Pods.
type reason struct {
	condition Condition
	// handler is empty if it is the default handler that is forbidden.
	handler string
	// by is the policy that forbids, if it is another one: this one has made
	// that a denial.
	by string
	// unasked: the webhook is not asked about these Pods.
	unasked bool
}

func (r reason) String() string {
	switch {
	case r.condition != Forbidden:
		return fmt.Sprintf("handler %q is %s, and actions.%s is Deny", r.handler, r.condition, r.condition)
	case r.by != "" && r.handler == "":
		return fmt.Sprintf("%s requires a RuntimeClass, and actions.Forbidden is Deny", called("RuntimePolicy", r.by))
	case r.by != "":
		return fmt.Sprintf("%[2]s does not allow handler %[1]q, and actions.Forbidden is Deny", r.handler, called("RuntimePolicy", r.by))
	case r.handler == "":
		return "a RuntimeClass is required"
	}
	return fmt.Sprintf("handler %q is not allowed", r.handler)
}

// A toll is what a policy would deny for one reason.
type toll struct {
	owners map[owner]bool
	pods   int
}

// An effect counts what a policy would deny of all that a survey shows it: what
// is denied with it, and not without it.
type effect struct {
	policy        *Policy
	scope         PodsScope
	with, without *Gate
	// verdicts are the reasons of users that have been judged, by all that a
	// verdict depends on: most Pods of a workload are alike.
	verdicts map[string][]reason
	tolls    map[reason]*toll
}

// newEffect makes ready to judge a policy beside the others, in namespaces with
// those labels.
func newEffect(gate *Gate, policy *Policy, others []*Policy, namespaces map[string]labels.Set, scope PodsScope) *effect {
	e := &effect{policy: policy, scope: scope, verdicts: map[string][]reason{}, tolls: map[reason]*toll{}}
	find := remember(gate.Class)
	under := func(policies []*Policy) *Gate {
		trial := *gate
		trial.Class, trial.LiveClass = find, find
		rules := map[string]Rules{}
		for name, set := range namespaces {
			rules[name] = RulesFor(policies, set)
		}
		trial.Rules = func(_ context.Context, namespace string) (Rules, error) { return rules[namespace], nil }
		return &trial
	}
	others = slices.DeleteFunc(slices.Clone(others), func(p *Policy) bool { return p.Name == policy.Name })
	e.without, e.with = under(others), under(append(others, policy))
	return e
}

// remember asks once for each class: a survey must not ask the API server for
// the class of each Pod.
func remember(find classFunc) classFunc {
	type answer struct {
		class *nodev1.RuntimeClass
		err   error
	}
	answers := map[string]answer{}
	return func(ctx context.Context, name string) (*nodev1.RuntimeClass, error) {
		if _, ok := answers[name]; !ok {
			class, err := find(ctx, name)
			answers[name] = answer{class, err}
		}
		return answers[name].class, answers[name].err
	}
}

// visit counts a user.
func (e *effect) visit(ctx context.Context, u *user) {
	reasons := e.reasons(ctx, u)
	if len(reasons) == 0 {
		return
	}
	who := u.owner
	if !u.template {
		who = ownerOf(u.pod)
	}
	for _, r := range reasons {
		t := e.tolls[r]
		if t == nil {
			t = &toll{owners: map[owner]bool{}}
			e.tolls[r] = t
		}
		t.owners[who] = true
		if !u.template {
			t.pods++
		}
		for _, job := range u.jobs {
			delete(t.owners, owner{"Job", u.namespace, job})
		}
	}
}

// reasons judges a user as if its Pod were made anew now.
func (e *effect) reasons(ctx context.Context, u *user) []reason {
	pod := u.pod
	if !u.template {
		// The scheduler has set it.
		pod.Spec.NodeName = ""
	}
	facts, err := json.Marshal([]any{
		u.namespace, u.template, leniency(pod), len(pod.Spec.SchedulingGates) > 0,
		relevant(&corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}),
	})
	if known, ok := e.verdicts[string(facts)]; ok && err == nil {
		return known
	}
	// A denial is not capped here: the maximal action is there to learn first
	// what would be denied without it.
	verdict, _ := e.with.judgeBy(ctx, e.with.rulesOf(ctx, u.namespace), pod, u.template, e.with.Class)
	var before Verdict
	if verdict.Action() == Deny {
		before, _ = e.without.judgeBy(ctx, e.without.rulesOf(ctx, u.namespace), pod, u.template, e.without.Class)
	}
	reasons := e.compare(&verdict, &before, !e.scope.includes(pod))
	e.verdicts[string(facts)] = reasons
	return reasons
}

// compare returns the reasons of the denials that were none before.
func (e *effect) compare(now, before *Verdict, unasked bool) []reason {
	var reasons []reason
	for i := range now.Findings {
		f := &now.Findings[i]
		if f.Action != Deny || slices.ContainsFunc(before.Findings, func(b Finding) bool {
			return b.Action == Deny && b.Condition == f.Condition && b.Handler == f.Handler
		}) {
			continue
		}
		r := reason{condition: f.Condition, handler: f.Handler, unasked: unasked}
		if f.Policy != e.policy.Name {
			r.by = f.Policy
		}
		reasons = append(reasons, r)
	}
	return reasons
}

// ownerOf returns the workload of a Pod, as far as the Pod itself tells: its
// controller, or the Deployment above it. A static Pod, whose controller is a
// Node, stands for itself.
func ownerOf(pod *corev1.Pod) owner {
	controller := metav1.GetControllerOf(pod)
	if controller == nil || controller.Kind == "Node" {
		return owner{"Pod", pod.Namespace, pod.Name}
	}
	if hash := pod.Labels["pod-template-hash"]; controller.Kind == "ReplicaSet" && hash != "" {
		// The Deployment controller names its ReplicaSets so (kubernetes 1.37).
		if name, ok := strings.CutSuffix(controller.Name, "-"+hash); ok {
			return owner{"Deployment", pod.Namespace, name}
		}
	}
	return owner{controller.Kind, pod.Namespace, controller.Name}
}

// sorted returns the reasons, that of the most workloads first.
func (e *effect) sorted() []reason {
	return slices.SortedFunc(maps.Keys(e.tolls), func(a, b reason) int {
		return cmp.Or(cmp.Compare(len(e.tolls[b].owners), len(e.tolls[a].owners)), cmp.Compare(a.String(), b.String()))
	})
}

// size says how much it is: "2 workloads (52 Pods)".
func (t *toll) size() string {
	size := plural(len(t.owners), "workload")
	if t.pods > 0 {
		size += fmt.Sprintf(" (%s)", plural(t.pods, "Pod"))
	}
	return size
}

// spread says in how many namespaces it is.
func (t *toll) spread() string {
	namespaces := map[string]bool{}
	for o := range t.owners {
		namespaces[o.namespace] = true
	}
	return plural(len(namespaces), "namespace")
}

func (t *toll) names() []string {
	var names []string
	for o := range t.owners {
		names = append(names, o.String())
	}
	slices.Sort(names)
	return names
}
