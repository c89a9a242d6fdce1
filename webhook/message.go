package webhook

import (
	"fmt"
	"strings"

	"github.com/runtimegate/runtimegate/inventory"
)

// A subject says in messages what was asked about.
type subject struct {
	where  string // which nodes: "this Pod may land on"
	narrow string // what to do so that only nodes with the handler are left
}

var (
	podSubject            = subject{"this Pod may land on", "add a nodeSelector for nodes that have it"}
	templateSubject       = subject{"its Pods may land on", "add a nodeSelector for nodes that have it"}
	classSubject          = subject{"of this cluster", "set scheduling.nodeSelector to nodes that have it"}
	selectingClassSubject = subject{"its scheduling.nodeSelector picks", "narrow that to nodes that have it"}
)

// tell makes the finding for a condition: the message says the point first,
// then the nodes, then what to do; the detail leaves nothing out.
func (s subject) tell(condition Condition, a *PodAsk) *Finding {
	var point string
	var rest []string
	switch condition {
	case Missing:
		point = fmt.Sprintf("%s is loaded on none of the %s %s", a.name(), nodes(a.Candidates()), s.where)
		if a.Candidates() == 1 {
			point = fmt.Sprintf("%s is not loaded on %s, the only node %s", a.name(), a.Lacks, s.where)
		}
		rest = append(rest, a.hint())
	case Partial:
		point = fmt.Sprintf("%s is loaded on %d of the %s %s", a.name(), a.Has.Count, nodes(a.Candidates()), s.where)
		rest = append(rest, "has it: "+a.Has.String())
		if a.Lacks.Count > 0 {
			rest = append(rest, "lacks it: "+a.Lacks.String())
		}
		rest = append(rest, a.ignorance(), s.narrow)
	case Broken:
		point = fmt.Sprintf("%s is loaded, but its sandboxes cannot start on %s: no shim or OCI runtime", a.name(), a.Broken)
		rest = append(rest, "kubectl get noderuntimes -o yaml says what is missing")
	case Expiring:
		point = fmt.Sprintf("%s is loaded, but the next restart of the runtime takes it away on %s", a.name(), a.Expiring)
		rest = append(rest, "mend the files before; kubectl get noderuntimes -o yaml names them")
	case Unknown:
		point, rest = s.unknown(a)
	}
	rest = compact(rest)
	detail := point + "; " + strings.Join(rest, "; ")
	return &Finding{Condition: condition, Handler: a.Handler, Message: shorten(fit(point, rest)), Detail: strings.TrimSuffix(detail, "; ")}
}

func (s subject) unknown(a *PodAsk) (point string, rest []string) {
	if a.Candidates() == 0 {
		point = fmt.Sprintf("%s: there is no node %s now, so it is not known whether it will be loaded", a.name(), s.where)
		if kept := a.kept(); kept != "" {
			return point, []string{kept}
		}
		return point, []string{a.hint()}
	}
	if a.OnDemand && a.Unknown() == 0 {
		point = fmt.Sprintf("%s is loaded on none of the %s %s", a.name(), nodes(a.Candidates()), s.where)
		return point, []string{"its nodes are provisioned on demand"}
	}
	point = fmt.Sprintf("%s is not known to be loaded on any of the %s %s", a.name(), nodes(a.Candidates()), s.where)
	if a.Candidates() == 1 {
		point = fmt.Sprintf("%s is not known to be loaded on the only node %s", a.name(), s.where)
	}
	rest = append(rest, a.ignorance())
	if a.Lacks.Count > 0 {
		rest = append(rest, "lacks it: "+a.Lacks.String())
	}
	return point, append(rest, a.hint())
}

// forbid makes the finding for a handler that a policy does not allow.
func (s subject) forbid(a *PodAsk, policy *Policy, action Action) *Finding {
	point := fmt.Sprintf("%s is not allowed in this namespace by RuntimePolicy %q", a.name(), policy.Name)
	allowed := "it allows no handler"
	if len(policy.allowed) > 0 {
		allowed = "allowed: " + first(policy.allowed)
	}
	return &Finding{
		Condition: Forbidden, Action: action, Handler: a.Handler, Policy: policy.Name,
		Message: shorten(fit(point, []string{allowed})), Detail: point + "; " + allowed,
	}
}

// forbidDefault makes the finding for a Pod that names no class where a policy
// asks for one.
func (s subject) forbidDefault(policy *Policy, action Action) *Finding {
	point := fmt.Sprintf("a runtimeClassName is required in this namespace by RuntimePolicy %q", policy.Name)
	rest := []string{}
	if len(policy.allowed) > 0 {
		rest = append(rest, "allowed handlers: "+first(policy.allowed))
	}
	message := fit(point, rest)
	return &Finding{Condition: Forbidden, Action: action, Policy: policy.Name, Message: shorten(message), Detail: message}
}

// first lists the first few names.
func first(names []string) string {
	if more := len(names) - inventory.SampleSize; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:inventory.SampleSize], ", "), more)
	}
	return strings.Join(names, ", ")
}

// name names the handler and who asks for it.
func (a *PodAsk) name() string {
	if a.Class == "" {
		return fmt.Sprintf("handler %q (annotation %s)", a.Handler, UntrustedAnnotation)
	}
	return fmt.Sprintf("handler %q (RuntimeClass %q)", a.Handler, a.Class)
}

// hint says what is probably wrong, or what there is instead.
func (a *PodAsk) hint() string {
	if a.Elsewhere.Count > 0 {
		return "it is loaded on " + a.Elsewhere.String() + ", ruled out by selector, affinity, taints or size"
	}
	if name := a.nearest(); name != "" {
		return fmt.Sprintf("did you mean %q?", name)
	}
	if len(a.Loaded) == 0 {
		return ""
	}
	return "loaded there: " + first(a.Loaded)
}

// ignorance says why it is not known whether nodes have the handler.
func (a *PodAsk) ignorance() string {
	var parts []string
	if a.Silent.Count > 0 {
		parts = append(parts, "no report from "+a.Silent.String())
	}
	if a.Stale.Count > 0 {
		parts = append(parts, "report too old: "+a.Stale.String())
	}
	if a.Young.Count > 0 {
		parts = append(parts, "new, may still be installing: "+a.Young.String())
	}
	return strings.Join(parts, "; ")
}

// kept says what keeps the Pod off nodes that it selects.
func (a *PodAsk) kept() string {
	switch {
	case a.Tainted.Count > 0:
		return fmt.Sprintf("%s: taint %s is not tolerated", a.Tainted, a.Taint.ToString())
	case a.TooSmall.Count > 0:
		return "too small for its requests: " + a.TooSmall.String()
	}
	return ""
}

// fit joins as many of the parts as MaxWarning has room for; each that does not
// fit is left out.
func fit(point string, parts []string) string {
	message := point
	for _, part := range parts {
		if len(message)+len("; ")+len(part) <= MaxWarning {
			message += "; " + part
		}
	}
	return message
}

func compact(parts []string) []string {
	kept := parts[:0]
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return kept
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
