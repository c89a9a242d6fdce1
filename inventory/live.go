package inventory

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// An Observation is what was seen of a node's running runtime, and of what lies
// ready for its next start.
type Observation struct {
	// Endpoint is the CRI socket that was asked.
	Endpoint string
	// Loaded is what the running runtime answered.
	Loaded *config.Status
	// StartedAt is when it was started; zero if that is not known.
	StartedAt time.Time
	// Next is what its files give; nil when they can't be read, and NextUnknown
	// says why.
	Next        *config.Result
	NextUnknown string
	// Programs are what was found of the loaded handlers' programs; of those
	// not in it nothing is known.
	Programs map[string]config.Runnability
	// Before is what was published last; nil for nothing.
	Before *v1alpha1.NodeRuntimeSpec
	// Starts are the starts of the runtime within the last stormTime.
	Starts []time.Time
	// At is the time of the answer.
	At time.Time
}

// FromStatus makes the NodeRuntime of a node out of what was observed there. It
// refuses an answer without handlers, which a runtime that serves Pods does not
// give.
func FromStatus(o *Observation, node string) (*v1alpha1.NodeRuntime, error) {
	l := &live{Observation: o}
	l.handlers()
	switch n := len(l.spec.Handlers); {
	case n == 0:
		return nil, fmt.Errorf("nothing to publish for node %q: the runtime at %s has loaded no handler", node, o.Endpoint)
	case n > v1alpha1.MaxHandlers:
		// A part of them would be taken for all.
		l.spec.Handlers = nil
		l.add(v1alpha1.FindingTooManyHandlers, v1alpha1.SeverityError, config.Place{}, "",
			"%s has loaded %d handlers, and a NodeRuntime holds %d: none is listed, and what this node has counts as unknown; take out those that nobody uses",
			o.Loaded.RuntimeName, n, v1alpha1.MaxHandlers)
	}
	at := metav1.NewTime(o.At).Rfc3339Copy()
	spec := &l.spec
	spec.Runtime = v1alpha1.Runtime{
		Name: cut(o.Loaded.RuntimeName, 64), Version: cut(o.Loaded.RuntimeVersion, 128), Endpoint: cut(o.Endpoint, 1024),
	}
	if !o.StartedAt.IsZero() {
		started := metav1.NewTime(o.StartedAt).Rfc3339Copy()
		spec.Runtime.StartedAt = &started
	}
	if nameable(o.Loaded.DefaultHandler) {
		spec.DefaultHandler = o.Loaded.DefaultHandler
	}
	if o.Loaded.CDI != nil {
		spec.CDI = &v1alpha1.CDI{Enabled: *o.Loaded.CDI}
	}
	spec.Source, spec.ObservedAt, spec.RenewedAt = v1alpha1.SourceCRI, at, at
	spec.Next = l.next()
	spec.Findings = l.findings()
	spec.Summary = summarize(spec)
	return &v1alpha1.NodeRuntime{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeRuntime"},
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec:       *spec,
	}, nil
}

// A live puts one NodeRuntime together.
type live struct {
	*Observation
	spec  v1alpha1.NodeRuntimeSpec
	found []v1alpha1.Finding
	// amiss are loaded handlers of which the files say something else, or with which
	// no sandbox can start.
	amiss []string
}

// nameable tells whether a NodeRuntime can hold the name of a handler. What it
// can't hold no RuntimeClass can ask for either: that wants a DNS label.
func nameable(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= 253 && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// handlers fills in what is loaded.
func (l *live) handlers() {
	for _, h := range l.Loaded.Handlers {
		if !nameable(h.Name) {
			l.add(v1alpha1.FindingUnnameable, v1alpha1.SeverityInfo, config.Place{}, "",
				"the runtime has loaded a handler named %q, which no RuntimeClass can ask for", cut(h.Name, 80))
			continue
		}
		l.spec.Handlers = append(l.spec.Handlers, l.handler(h))
	}
}

func (l *live) handler(h config.Handler) v1alpha1.Handler {
	out := v1alpha1.Handler{Name: h.Name, RuntimeType: cut(h.RuntimeType, 1024)}
	if f, ok := l.Loaded.Features[h.Name]; ok {
		out.Features = &v1alpha1.Features{RecursiveReadOnlyMounts: f.RecursiveReadOnlyMounts, UserNamespaces: f.UserNamespaces}
	}
	r := l.runnability(h)
	out.Shim, out.Binary = program(r.Shim), program(r.Binary)
	if l.typeless(h) {
		out.Shim = &v1alpha1.Program{Path: cut(h.RuntimePath, 4096), State: v1alpha1.ProgramNotFound}
	}
	if file := l.report(h.Name); file != nil {
		if at := origin(file); at.File != "" {
			out.Origin = cut(fmt.Sprintf("%s:%d", at.File, at.Line), 4096)
		}
	}
	return out
}

// typeless tells whether no sandbox of the handler can start for want of a
// type. Of other runtimes than containerd an empty one says nothing.
func (l *live) typeless(h config.Handler) bool {
	return h.RuntimeType == "" && l.Loaded.RuntimeName == config.Containerd
}

// runnability is what was found of a handler's programs. A program that was
// looked for by its name alone may be in a folder of the daemon's PATH that only
// the daemon knows: where it tells the handler's features, it has run it.
func (l *live) runnability(h config.Handler) config.Runnability {
	r := l.Programs[h.Name]
	if _, ran := l.Loaded.Features[h.Name]; !ran {
		return r
	}
	for _, p := range []**config.Program{&r.Shim, &r.Binary} {
		if *p != nil && (*p).State == config.NotFound && !strings.Contains((*p).Path, "/") {
			*p = &config.Program{Path: (*p).Path, State: config.Unchecked}
		}
	}
	return r
}

func program(p *config.Program) *v1alpha1.Program {
	if p == nil {
		return nil
	}
	return &v1alpha1.Program{Path: cut(p.Path, 4096), State: v1alpha1.ProgramState(p.State)}
}

// report is what the files say of a handler, nil for nothing.
func (l *live) report(name string) *config.HandlerReport {
	if l.Next == nil {
		return nil
	}
	for i := range l.Next.Handlers {
		if l.Next.Handlers[i].Name == name {
			return &l.Next.Handlers[i]
		}
	}
	return nil
}

// origin is the last place that gives the runtime the handler; of one that no
// place gives any more, the last place that is read and defines it, but none if the
// runtime has it built in.
func origin(h *config.HandlerReport) config.Place {
	var at config.Place
	gives := false
	for _, o := range h.Origins {
		now := o.Fate == config.Loaded || o.Fate == config.Merged
		if o.Fate == config.Ignored || gives && !now {
			continue
		}
		at, gives = config.Place{File: o.File, Line: o.Line}, gives || now
	}
	if !gives && (h.Fate == config.Loaded || h.Fate == config.Merged) {
		return config.Place{}
	}
	return at
}

// next is what the next start would load, nil when that is not known. One that
// serves no Pods loads nothing.
func (l *live) next() *v1alpha1.Next {
	if l.Next == nil {
		return nil
	}
	next := &v1alpha1.Next{Handlers: []string{}}
	if l.Next.Daemon.State != config.Running {
		return next
	}
	for _, name := range l.Next.Daemon.CRI.Names() {
		if nameable(name) {
			next.Handlers = append(next.Handlers, name)
		}
	}
	if n := len(next.Handlers); n > v1alpha1.MaxHandlers {
		// A part of them would show the others as expiring.
		l.NextUnknown = fmt.Sprintf("the files define %d handlers, a NodeRuntime holds %d", n, v1alpha1.MaxHandlers)
		return nil
	}
	if name := l.Next.Daemon.CRI.DefaultHandler; nameable(name) {
		next.DefaultHandler = name
	}
	return next
}
