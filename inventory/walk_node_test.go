package inventory

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A walkedNode is what the index keeps of one node: the Node, and the handlers as
// its reporter and its kubelet tell them.
type walkedNode struct {
	object *corev1.Node // stripped

	// reported are the handlers of the NodeRuntime, sorted; nil if there is no
	// NodeRuntime or it knows of none. They hold until renewed is too old.
	reported []string
	renewed  time.Time
	// unproven: a handler that is not reported may be loaded all the same.
	unproven bool
	// down: the runtime does not answer.
	down bool
	// fromDump: the report is of files, not of the running runtime.
	fromDump bool
	// unconfirmed are handlers of which it is not sure whether they are loaded.
	unconfirmed []string
	// broken are the reported handlers whose shim or binary is missing, and
	// expiring those that the next start of the runtime would not load.
	broken             map[string]Faults
	expiring, breaking map[string]bool
	// lost are the handlers that the runtime had before its last start.
	lost map[string]bool
	// findings are the kinds of the report's findings, also of one that knows no
	// handler.
	findings []FindingKind
	// standard is the default handler, "" if it is not known.
	standard string
	// reportedOffers are the features of the reported handlers, and cdi what is
	// told of that.
	reportedOffers map[string]offers
	cdi            offers

	// listed are the handlers of Node.status.runtimeHandlers, sorted; nil when
	// the runtime does not tell the kubelet (containerd before 2.0).
	listed []string
	// listedOffers are the features of the listed handlers; "" stands for the
	// default one.
	listedOffers map[string]offers
	// groups is what the kubelet tells of SupplementalGroupsPolicy.
	groups offers
	ready  bool
}

// setObject takes over a new state of the Node.
func (n *walkedNode) setObject(object *corev1.Node) {
	n.object = object
	n.listed, n.listedOffers, n.groups = nil, map[string]offers{}, offers{}
	for _, handler := range object.Status.RuntimeHandlers {
		// "" stands for the default handler; a list of nothing else names none.
		if handler.Name != "" {
			n.listed = append(n.listed, handler.Name)
		}
		var told offers
		if features := handler.Features; features != nil {
			told.say(UserNamespaces, features.UserNamespaces)
			told.say(RecursiveReadOnlyMounts, features.RecursiveReadOnlyMounts)
		}
		n.listedOffers[handler.Name] = told
	}
	if features := object.Status.Features; features != nil {
		n.groups.say(SupplementalGroupsPolicy, features.SupplementalGroupsPolicy)
	}
	slices.Sort(n.listed)
	n.ready = true
	for _, condition := range object.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			n.ready = condition.Status == corev1.ConditionTrue
		}
	}
}

// setReport takes over a new state of the NodeRuntime; nil when it is gone.
func (n *walkedNode) setReport(report *v1alpha1.NodeRuntime) {
	n.reported, n.renewed, n.unproven, n.down = nil, time.Time{}, false, false
	n.broken, n.expiring, n.breaking, n.fromDump = map[string]Faults{}, nil, nil, false
	n.standard, n.reportedOffers, n.cdi = "", map[string]offers{}, offers{}
	n.unconfirmed, n.lost, n.findings = nil, nil, nil
	if report == nil {
		return
	}
	n.findings = kindsOf(report.Spec.Findings)
	for _, name := range handlersWith(&report.Spec, v1alpha1.FindingHandlerLost) {
		n.lost = with(n.lost, name)
	}
	n.standard = report.Spec.DefaultHandler
	if cdi := report.Spec.CDI; cdi != nil {
		n.cdi.say(CDI, &cdi.Enabled)
	}
	n.renewed = report.Spec.RenewedAt.Time
	n.fromDump = report.Spec.Source == v1alpha1.SourceConfigDump
	n.unconfirmed = handlersWith(&report.Spec, v1alpha1.FindingHandlerUnconfirmed)
	for i := range report.Spec.Handlers {
		handler := &report.Spec.Handlers[i]
		n.reported = append(n.reported, handler.Name)
		if faults := faultsOf(report.Spec.Runtime.Name, handler); faults != 0 {
			n.broken[handler.Name] = faults
		}
		for _, f := range report.Spec.Findings {
			next := report.Spec.Next
			if f.Code == v1alpha1.FindingExpiring && f.Handler == handler.Name && (next == nil || slices.Contains(next.Handlers, handler.Name)) {
				n.expiring, n.breaking = with(n.expiring, handler.Name), with(n.breaking, handler.Name)
			}
		}
		if next := report.Spec.Next; next != nil && !slices.Contains(next.Handlers, handler.Name) {
			n.expiring = with(n.expiring, handler.Name)
		}
		if features := handler.Features; features != nil {
			var told offers
			told.say(UserNamespaces, &features.UserNamespaces)
			told.say(RecursiveReadOnlyMounts, &features.RecursiveReadOnlyMounts)
			n.reportedOffers[handler.Name] = told
		}
	}
	slices.Sort(n.reported)
	if n.standard != "" && !slices.Contains(n.reported, n.standard) {
		n.broken[n.standard] = NotLoaded
	}
	for _, finding := range report.Spec.Findings {
		switch finding.Code {
		case v1alpha1.FindingDumpNotProof:
			n.unproven = true
		case v1alpha1.FindingRuntimeUnreachable:
			n.down = true
		}
	}
}

// handlers returns what is known to be loaded at the time now, best source
// first, and whether a handler that is not among them is known to be missing.
func (n *walkedNode) handlers(now time.Time, o *Options) (loaded []string, complete bool) {
	young := n.isYoung(now, o)
	if n.isFresh(now, o) {
		if n.down { // what was loaded went with it
			return nil, false
		}
		complete = !n.unproven && !young
		if n.fromDump {
			// A dump is what the next start would load. What the kubelet heard from
			// the running runtime counts more, and a node that is not Ready may be
			// about to start it.
			if len(n.listed) > 0 && n.ready {
				return n.listed, !young
			}
			complete = complete && n.ready
		}
		return n.reported, complete
	}
	// A kubelet that is not Ready no longer says what its runtime has: the
	// runtime may come back with more.
	return n.listed, len(n.listed) > 0 && n.ready && !young
}

// isYoung says whether installers may still be at work on the node.
func (n *walkedNode) isYoung(now time.Time, o *Options) bool {
	return now.Sub(n.object.CreationTimestamp.Time) < o.NodeSettle
}

// isFresh says whether the report counts: it knows handlers and is current.
func (n *walkedNode) isFresh(now time.Time, o *Options) bool {
	return len(n.reported) > 0 && n.isCurrent(now, o)
}

// isCurrent says whether there is a report that is neither too old nor from the
// future, and not of an earlier node of the same name.
func (n *walkedNode) isCurrent(now time.Time, o *Options) bool {
	age := now.Sub(n.renewed)
	return age <= o.StaleAfter && age >= -maxClockSkew && !n.renewed.Before(n.object.CreationTimestamp.Time)
}

// A walkedView is what is known of a node at one time.
type walkedView struct {
	*walkedNode
	fresh, young bool
	loaded       []string
	complete     bool
}

func (n *walkedNode) at(now time.Time, o *Options) walkedView {
	v := walkedView{walkedNode: n, fresh: n.isFresh(now, o), young: n.isYoung(now, o)}
	v.loaded, v.complete = n.handlers(now, o)
	return v
}

// knowledge says what is known about one handler on the node; "" is the default
// handler, which a node can have or not tell of, but not lack.
func (v *walkedView) knowledge(handler string) Knowledge {
	if v.fresh && v.down {
		return UnknownDown
	}
	if handler == "" {
		_, listed := v.listedOffers[""]
		if v.fresh && v.standard != "" || listed && v.ready {
			return Has
		}
		return v.ignorance()
	}
	if v.fresh && slices.Contains(v.unconfirmed, handler) {
		return UnknownSilent
	}
	if _, ok := slices.BinarySearch(v.loaded, handler); ok {
		return Has
	}
	if v.complete {
		return Lacks
	}
	return v.ignorance()
}

// offers says what is known at the time now of the features of a handler that
// the node has.
func (n *walkedNode) offers(handler string, now time.Time, o *Options) offers {
	told := n.listedOffers[handler].or(n.groups)
	if !n.isFresh(now, o) {
		return told
	}
	if handler == "" {
		handler = n.standard
	}
	return n.reportedOffers[handler].or(n.cdi).or(told)
}

// ignorance says why it is not known whether the node has a handler.
func (v *walkedView) ignorance() Knowledge {
	switch {
	case v.young:
		return UnknownYoung
	case len(v.reported) > 0 && !v.fresh:
		return UnknownStale
	}
	return UnknownSilent
}
