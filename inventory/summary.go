package inventory

import (
	"slices"
	"time"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A Freshness says what the knowledge of a node rests on.
type Freshness string

// The kinds of Freshness. A node has one of them.
const (
	// Fresh: its NodeRuntime counts.
	Fresh Freshness = "Fresh"
	// Stale: its NodeRuntime does not count: it is too old, from the future, or of
	// an earlier node of that name. The kubelet's list stands in, if there is one.
	Stale Freshness = "Stale"
	// Kubelet: there is no NodeRuntime that knows a handler, and the kubelet lists
	// some.
	Kubelet Freshness = "Kubelet"
	// Young: nobody has told of it yet, and it is new.
	Young Freshness = "Young"
	// Silent: nobody has told of it.
	Silent Freshness = "Silent"
)

// Freshnesses are all of them.
var Freshnesses = []Freshness{Fresh, Stale, Kubelet, Young, Silent}

// A HandlerState is what is known of a handler on a node.
type HandlerState string

// The states of a handler. On a node it has one of them.
const (
	// Loaded: the runtime has it, and nothing is wrong with it.
	Loaded HandlerState = "Loaded"
	// Broken: the runtime has it, and its shim or OCI runtime is missing; or it is
	// the default handler, and not loaded.
	Broken HandlerState = "Broken"
	// Expiring: the runtime has it, and loses it at its next start.
	Expiring HandlerState = "Expiring"
	// Lost: the runtime had it before its last start.
	Lost HandlerState = "Lost"
	// Lacking: the runtime does not have it.
	Lacking HandlerState = "Lacking"
	// Unknown: nobody has told.
	Unknown HandlerState = "Unknown"
)

// HandlerStates are all of them.
var HandlerStates = []HandlerState{Loaded, Broken, Expiring, Lost, Lacking, Unknown}

// OtherCode stands for all codes of findings that runtimegate does not have: what
// a reporter makes up must not become the label of a metric.
const OtherCode = "Other"

// A FindingKind tells findings of one kind from others.
type FindingKind struct {
	Code     string
	Severity v1alpha1.Severity
}

// A Summary counts the nodes of an Index.
type Summary struct {
	Nodes map[Freshness]int
	// Handlers has the handlers asked for.
	Handlers map[string]map[HandlerState]int
	// Findings are those of the reports that are not too old, whether or not they
	// know a handler.
	Findings map[FindingKind]int
}

// Summary counts the nodes at the time now: by what the knowledge of them rests
// on, by the state of each of the handlers ("" is the default one), and by
// findings.
func (x *Index) Summary(handlers []string, now time.Time) Summary {
	s := Summary{Nodes: map[Freshness]int{}, Handlers: map[string]map[HandlerState]int{}, Findings: map[FindingKind]int{}}
	for _, handler := range handlers {
		s.Handlers[handler] = map[HandlerState]int{}
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, n := range x.nodes {
		s.Nodes[n.freshness(now, &x.options)]++
		for handler, states := range s.Handlers {
			states[n.state(handler, now, &x.options)]++
		}
		if n.isCurrent(now, &x.options) {
			for _, kind := range n.findings {
				s.Findings[kind]++
			}
		}
	}
	return s
}

// freshness says what the knowledge of the node rests on at the time now. What an
// earlier node of that name reported is no fault of a new one.
func (n *node) freshness(now time.Time, o *Options) Freshness {
	switch young := n.isYoung(now, o); {
	case n.isFresh(now, o):
		return Fresh
	case len(n.reported) > 0 && !young:
		return Stale
	case len(n.listed) > 0:
		return Kubelet
	case young:
		return Young
	}
	return Silent
}

// state says what is known at the time now about one handler on the node; "" is
// the default one.
func (n *node) state(handler string, now time.Time, o *Options) HandlerState {
	name := handler
	if name == "" {
		name = n.standard
	}
	fresh := n.isFresh(now, o)
	switch known := n.knowledge(handler, now, o); {
	case known == Has && fresh && n.broken[name]:
		return Broken
	case known == Has && fresh && n.expiring[name]:
		return Expiring
	case known == Has:
		return Loaded
	case fresh && n.lost[name]:
		return Lost
	case known == Lacks:
		return Lacking
	}
	return Unknown
}

// kindsOf returns the kinds of the findings of a report, each once.
func kindsOf(findings []v1alpha1.Finding) (kinds []FindingKind) {
	for i := range findings {
		kind := FindingKind{Code: findings[i].Code, Severity: findings[i].Severity}
		if !slices.Contains(config.Codes, kind.Code) && !slices.Contains(v1alpha1.FindingCodes, kind.Code) {
			kind.Code = OtherCode
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
