package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
)

// A Gate judges objects by what is known of a cluster.
type Gate struct {
	Index *inventory.Index
	// Class finds a RuntimeClass by name. It has asked the API server before it
	// says that there is none.
	Class func(ctx context.Context, name string) (*nodev1.RuntimeClass, error)
	// LiveClass asks the API server. It is called before a Pod is denied.
	LiveClass func(ctx context.Context, name string) (*nodev1.RuntimeClass, error)
	// Classes are all RuntimeClasses, for hints; it may be behind.
	Classes func(ctx context.Context) []nodev1.RuntimeClass
	// Rules are those of a namespace; an error means that not all are known.
	Rules func(ctx context.Context, namespace string) (Rules, error)
	Now   func() time.Time
	// MaxAction caps every action.
	MaxAction Action
	// ClassMissing is what to do about a RuntimeClass whose handler no node has.
	ClassMissing Action
}

// Pod judges a Pod as it comes from the API server's RuntimeClass admission,
// which has merged its class into it.
func (g *Gate) Pod(ctx context.Context, namespace string, pod *corev1.Pod) Verdict {
	return g.judge(ctx, namespace, pod, false)
}

// Template judges the Pods that a workload's template makes. It merges their
// class into the Pod as the API server will. It never denies: that is for the
// Pods.
func (g *Gate) Template(ctx context.Context, namespace string, template *corev1.PodTemplateSpec) Verdict {
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	verdict := g.judge(ctx, namespace, pod, true)
	verdict.capAt(Warn)
	return verdict
}

// judge judges a Pod, or one that a template will make. A handler cannot be
// changed, so that a class is mended by deleting it and making it anew, often in
// one go with its Pods: before a denial the class is read live, since the cache
// may have the one before.
func (g *Gate) judge(ctx context.Context, namespace string, pod *corev1.Pod, template bool) Verdict {
	rules := g.rulesOf(ctx, namespace)
	verdict, class := g.judgeBy(ctx, rules, pod, template, g.Class)
	if class != nil && verdict.Action() == Deny {
		verdict, _ = g.judgeBy(ctx, rules, pod, template, g.LiveClass)
	}
	verdict.capAt(g.MaxAction)
	return verdict
}

// knownRules are the rules of a namespace as far as they are known, and what is told
// if that is not all; nil for nothing.
type knownRules struct {
	Rules
	ruleless *Finding
}

// rulesOf asks for the rules once for a review: that may take a look-up.
func (g *Gate) rulesOf(ctx context.Context, namespace string) (known knownRules) {
	rules, err := g.Rules(ctx, namespace)
	if known.Rules = rules; err != nil {
		known.ruleless = tellRuleless(namespace, err)
	}
	return known
}

// judgeBy judges a Pod by the class that a look-up finds, and returns both.
func (g *Gate) judgeBy(ctx context.Context, rules knownRules, pod *corev1.Pod, template bool, find classFunc) (Verdict, *nodev1.RuntimeClass) {
	facts := PodFacts{Rules: rules.Rules, Lenient: leniency(pod), Template: template}
	var fault *Finding
	var class *nodev1.RuntimeClass
	own := &corev1.Pod{}
	if own.ObjectMeta = pod.ObjectMeta; template {
		pod.Spec.DeepCopyInto(&own.Spec) // for MergeClass
	} else {
		own.Spec = pod.Spec
	}
	pod = own
	if name := pod.Spec.RuntimeClassName; name != nil && *name != "" {
		found, err := find(ctx, *name)
		if err != nil {
			fault = g.tellUnread(ctx, *name, err)
		} else {
			class = found
		}
	}
	// A Pod comes with its requests, but for those of the Pod as a whole
	// (PodLevelResourcesFixDefaulting, kubernetes 1.37).
	inventory.DefaultRequests(&pod.Spec)
	if template && fault == nil {
		if err := MergeClass(&pod.Spec, class); err != nil {
			fault = tellRejected(err)
		}
	}
	if class != nil && fault == nil {
		g.ask(&facts, pod, askOf(class))
	}
	switch untrusted := pod.Annotations[UntrustedAnnotation] == "true"; {
	case untrusted && class != nil && fault == nil:
		fault = told(Rejected, "containerd refuses a Pod with a RuntimeClass (%q) and the annotation %s: leave one of them out", class.Name, UntrustedAnnotation)
	case untrusted:
		g.ask(&facts, pod, Ask{Handler: UntrustedHandler})
	case fault == nil && class == nil:
		g.ask(&facts, pod, Ask{})
	}
	verdict := JudgePod(facts)
	verdict.add(fault)
	verdict.add(rules.ruleless)
	return verdict, class
}

// ask adds an ask of a Pod to its facts. What is large is not copied: over HTTP/2
// each request has a new stack, which takes time to grow.
func (g *Gate) ask(facts *PodFacts, pod *corev1.Pod, ask Ask) {
	placement, now := inventory.PlacementOf(pod), g.Now()
	facts.Asks = append(facts.Asks, PodAsk{})
	asked := &facts.Asks[len(facts.Asks)-1]
	asked.Ask = ask
	asked.Coverage = g.Index.Coverage(placement, ask.Handler, inventory.FeaturesOf(&pod.Spec), now)
	if len(asked.conditions()) > 0 {
		asked.Known = g.Index.Loaded(now) // for a hint
	}
}

// RuntimeClass judges a RuntimeClass.
func (g *Gate) RuntimeClass(class *nodev1.RuntimeClass) Verdict {
	scheduling := class.Scheduling
	if scheduling == nil {
		scheduling = &nodev1.Scheduling{}
	}
	now := g.Now()
	selected := inventory.ClassPlacement(scheduling.NodeSelector, nil, true)
	tolerated := inventory.ClassPlacement(scheduling.NodeSelector, scheduling.Tolerations, false)
	verdict := JudgeClass(ClassFacts{
		Ask:       askOf(class),
		Selected:  g.Index.Coverage(selected, class.Handler, 0, now),
		Tolerated: g.Index.Coverage(tolerated, class.Handler, 0, now),
		Selects:   len(scheduling.NodeSelector) > 0,
		Known:     g.Index.Loaded(now),
	}, g.ClassMissing)
	verdict.capAt(g.MaxAction)
	return verdict
}

// tellUnread makes the finding for a class that could not be read.
func (g *Gate) tellUnread(ctx context.Context, class string, err error) *Finding {
	if !apierrors.IsNotFound(err) {
		return told(Unknown, "RuntimeClass %q could not be read, so its handler was not checked: %v", class, err)
	}
	f := finding(Rejected, part{
		fmt.Sprintf("RuntimeClass %q does not exist, so the API server rejects the Pod", class),
		"its RuntimeClass does not exist, so the API server rejects the Pod",
	}, say(nearClass(class, g.Classes(ctx))))
	f.Action = Warn
	return f
}

// tellRuleless makes the finding for a namespace whose policies are not known.
func tellRuleless(namespace string, err error) *Finding {
	return told(Unknown, "not all RuntimePolicies of namespace %q are known, so not all were enforced: %v", namespace, err)
}

// nearClass says which class was probably meant by a name that none has: the
// name of a handler is a common mistake.
func nearClass(name string, classes []nodev1.RuntimeClass) string {
	var names, ofHandler []string
	for i := range classes {
		names = append(names, classes[i].Name)
		if classes[i].Handler == name {
			ofHandler = append(ofHandler, fmt.Sprintf("%q", classes[i].Name))
		}
	}
	if len(ofHandler) > 0 {
		slices.Sort(ofHandler)
		return fmt.Sprintf("%q is the handler of RuntimeClass %s: use that name", name, strings.Join(ofHandler[:min(len(ofHandler), 3)], ", "))
	}
	if near := config.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

func tellRejected(err error) *Finding {
	return told(Rejected, "the API server will reject the Pods: %v", err)
}

// told makes a finding of a text of any length, which warns.
func told(condition Condition, format string, args ...any) *Finding {
	text := fmt.Sprintf(format, args...)
	return &Finding{Condition: condition, Action: Warn, Message: text, Detail: text}
}

// askOf returns what a RuntimeClass asks for.
func askOf(class *nodev1.RuntimeClass) Ask {
	return Ask{
		Handler:  class.Handler,
		Class:    class.Name,
		OnDemand: class.Annotations[OnDemandAnnotation] == "true",
	}
}

// leniency says why a Pod is not denied for what its nodes lack.
func leniency(pod *corev1.Pod) Leniency {
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return Mirror
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "DaemonSet" && strings.HasPrefix(owner.APIVersion, "apps/") {
		return OfDaemonSet
	}
	// The two built-in priority classes (scheduling.k8s.io, since 1.11).
	if name := pod.Spec.PriorityClassName; name == "system-node-critical" || name == "system-cluster-critical" {
		return Critical
	}
	return Strict
}
