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
	// Broken: the runtime has it, and its shim, OCI runtime or runtime_type is missing;
	// or it is the default handler, and not loaded.
	Broken HandlerState = "Broken"
	// Expiring: the runtime has it, and loses it at its next start, or what its Pods
	// need to start.
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
	states := make([]map[HandlerState]int, len(handlers))
	for i, handler := range handlers {
		states[i] = map[HandlerState]int{}
		s.Handlers[handler] = states[i]
	}
	known := x.at(now)
	for i := range known.kinds {
		k := &known.kinds[i]
		v := known.views[k.view]
		s.Nodes[v.freshness()] += int(k.all.count)
		for i, handler := range handlers {
			states[i][v.state(handler)] += int(k.all.count)
		}
		if v.current {
			for _, kind := range v.findings {
				s.Findings[kind] += int(k.all.count)
			}
		}
	}
	return s
}

// freshness says what the knowledge of the node rests on. What an earlier node of
// that name reported is no fault of a new one.
func (v *view) freshness() Freshness {
	switch {
	case v.fresh:
		return Fresh
	case len(v.reported.handlers) > 0 && !v.young:
		return Stale
	case len(v.listing.handlers) > 0:
		return Kubelet
	case v.young:
		return Young
	}
	return Silent
}

// state says what is known about one handler on the node; "" is the default one.
func (v *view) state(handler string) HandlerState {
	name := handler
	if name == "" {
		name = v.standard
	}
	switch known := v.knowledge(handler); {
	case known == Has && v.fresh && v.broken[name] != 0:
		return Broken
	case known == Has && v.fresh && v.expiring[name]:
		return Expiring
	case known == Has:
		return Loaded
	case v.fresh && v.lost[name]:
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
