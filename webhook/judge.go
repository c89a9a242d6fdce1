package webhook

import (
	"slices"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
)

// An Ask is a wish for a runtime handler.
type Ask struct {
	// Handler is empty for the default handler of each node.
	Handler string
	// Class is the RuntimeClass that names the handler; empty when
	// UntrustedAnnotation does, or nobody.
	Class string
	// OnDemand: nodes that have the handler are made when they are needed
	// (OnDemandAnnotation on the class).
	OnDemand bool
}

// OnDemandAnnotation on a RuntimeClass says that nodes with its handler are
// provisioned when Pods ask for them, so that no node having it now means
// nothing.
const OnDemandAnnotation = "runtimegate.io/provisioned-on-demand"

// UntrustedAnnotation with the value "true" makes containerd use the handler
// UntrustedHandler for a Pod that names no RuntimeClass, and refuse one that
// does (containerd 1.6 to 2.4).
const (
	UntrustedAnnotation = "io.kubernetes.cri.untrusted-workload"
	UntrustedHandler    = "untrusted"
)

// A PodFacts is what is judged of a Pod.
type PodFacts struct {
	Asks []PodAsk
	// Rules are those of its namespace.
	Rules Rules
	// Lenient is why a denial becomes a warning for this Pod; empty if it does
	// not.
	Lenient Leniency
	// Template: the Pod is not there yet; a template will make it.
	Template bool
}

// A PodAsk is an ask of a Pod, and what the nodes it may land on have of it.
type PodAsk struct {
	Ask
	inventory.Coverage
	// Known are the handlers loaded on any node of the cluster, sorted.
	Known []string
}

// A Leniency is a reason not to deny a Pod for what its nodes lack.
type Leniency string

// The reasons for leniency. None of them may ever open a policy: a tenant can
// write the owner reference, the annotation and the priority class himself.
const (
	Strict Leniency = ""
	// OfDaemonSet: the DaemonSet controller makes a Pod for every node, so that
	// one which can't start is the rule in a mixed cluster, not the exception.
	OfDaemonSet Leniency = "Pod of a DaemonSet"
	// Mirror: the kubelet runs the static Pod whatever the answer is.
	Mirror Leniency = "mirror Pod"
	// Critical: a cluster must not lose what keeps it alive to a webhook.
	Critical Leniency = "system-critical Pod"
)

// JudgePod decides on the creation of a Pod.
func JudgePod(pod PodFacts) Verdict {
	s := podSubject
	if pod.Template {
		s = templateSubject
	}
	var verdict Verdict
	for i := range pod.Asks {
		ask := &pod.Asks[i]
		// Never softened: what a tenant can write himself must not open a policy.
		if ask.isDefault() {
			if policy := pod.Rules.ForbidsDefault(); policy != nil {
				verdict.add(s.forbidDefault(policy, pod.Rules.Action(Forbidden)))
			}
		} else if policy := pod.Rules.Forbids(ask.Handler); policy != nil {
			forbidden := s.forbid(ask, policy, pod.Rules.Action(Forbidden))
			forbidden.Handler = ask.Handler
			verdict.add(forbidden)
		}
		for _, condition := range ask.conditions() {
			finding := s.tell(condition, ask)
			finding.Action, finding.Handler = pod.Rules.Action(condition), ask.Handler
			// The annotation means nothing to CRI-O: what it asks for may not be
			// needed at all.
			if pod.Lenient != Strict || ask.Handler == UntrustedHandler && ask.Class == "" {
				finding.Action = min(finding.Action, Warn)
			}
			// What is said of the nodes that have the handler need not hold for those
			// of which that is not known.
			if ask.Unknown() > 0 && slices.Contains([]Condition{Broken, Oversized, FeatureMissing}, condition) {
				finding.Action = min(finding.Action, Warn)
			}
			// A node with room for it may come yet, or lose its taints.
			if condition == Oversized && (ask.OnDemand || ask.Settling.Count > 0) {
				finding.Action = min(finding.Action, Warn)
			}
			verdict.add(finding)
		}
	}
	return verdict
}

// A ClassFacts is what is judged of a RuntimeClass.
type ClassFacts struct {
	Ask
	// Selected are the nodes that the class's nodeSelector picks, whatever their
	// taints: a Pod may bring the tolerations.
	Selected inventory.Coverage
	// Tolerated are those of them that a Pod with no tolerations of its own may
	// land on.
	Tolerated inventory.Coverage
	// Selects: the class has a nodeSelector.
	Selects bool
	// Known are the handlers loaded on any node of the cluster, sorted.
	Known []string
}

// JudgeClass decides on the creation or change of a RuntimeClass. missing is
// what to do when no node has its handler: installers make the class first.
func JudgeClass(class ClassFacts, missing Action) Verdict {
	s := classSubject
	if class.Selects {
		s = selectingClassSubject
	}
	coverage := class.Selected
	if coverage.Has.Count > 0 {
		// Nodes that lack the handler matter only if a Pod gets there unasked.
		coverage.Lacks = class.Tolerated.Lacks
		coverage.Silent, coverage.Stale, coverage.Young = class.Tolerated.Silent, class.Tolerated.Stale, class.Tolerated.Young
		coverage.Down = class.Tolerated.Down
	}
	ask := PodAsk{Ask: class.Ask, Coverage: coverage, Known: class.Known}
	var verdict Verdict
	for _, condition := range ask.conditions() {
		finding := s.tell(condition, &ask)
		finding.Action = Warn
		if condition == Missing {
			finding.Action = missing
		}
		verdict.add(finding)
	}
	return verdict
}

// isDefault says whether the default handler is asked for.
func (a *PodAsk) isDefault() bool { return a.Handler == "" }

// conditions returns all conditions that hold.
func (a *PodAsk) conditions() []Condition {
	if a.isDefault() {
		return a.defaultConditions()
	}
	var all []Condition
	if a.Has.Count == 0 {
		if a.Crowded.Count > 0 {
			all = append(all, Oversized)
		}
		switch {
		case a.Candidates() == 0 && a.Crowded.Count > 0:
			// That there is no node is said already.
		case a.Lacks.Count == 0 || a.Unknown() > 0 || a.OnDemand || a.Settling.Count > 0:
			all = append(all, Unknown)
		default:
			all = append(all, Missing)
		}
		return all
	}
	if a.Broken.Count == a.Has.Count {
		all = append(all, Broken)
	}
	if a.Expiring.Count > 0 {
		all = append(all, Expiring)
	}
	// Where a runtime is down its node is not Ready soon, and the scheduler takes another.
	if a.Lacks.Count+a.Unknown()-a.Down.Count > 0 {
		all = append(all, Partial)
	}
	return append(all, a.featureConditions()...)
}

// defaultConditions are those of the default handler. Every node has one, so
// that what is not known of a few nodes is no reason to warn of every Pod, but
// of one that needs a feature.
func (a *PodAsk) defaultConditions() []Condition {
	var all []Condition
	if n := a.Candidates(); n > 0 {
		if a.Broken.Count == n {
			all = append(all, Broken)
		}
		if a.Expiring.Count == n {
			all = append(all, Expiring)
		}
	}
	switch {
	case a.Has.Count > 0:
		all = append(all, a.featureConditions()...)
	case a.Unknown() > 0 && len(a.Features) > 0:
		// A kubelet that lists no handlers may have a runtime that offers none of
		// the features, as containerd before 2.0.
		all = append(all, Unknown)
	}
	return all
}

func (a *PodAsk) featureConditions() []Condition {
	var all []Condition
	if slices.ContainsFunc(a.Features, inventory.FeatureCoverage.IsMissing) {
		all = append(all, FeatureMissing)
	}
	if slices.ContainsFunc(a.Features, inventory.FeatureCoverage.IsUnknown) {
		all = append(all, Unknown)
	}
	return all
}

// nearest returns the handler that was probably meant, "" if the one asked for
// is loaded somewhere, so that no mistake in the name is likely.
func (a *PodAsk) nearest() string {
	if a.Elsewhere.Count > 0 {
		return ""
	}
	return config.Nearest(a.Handler, append(slices.Clone(a.Loaded), a.Known...))
}
