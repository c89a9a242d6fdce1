package inventory

import (
	"slices"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A reported is what a NodeRuntime says of its node, but for when.
type reported struct {
	// handlers are those that it has loaded, sorted; nil if it knows of none.
	handlers []string
	// unproven: a handler that is not reported may be loaded all the same.
	unproven bool
	// down: the runtime does not answer.
	down bool
	// fromDump: the report is of files, not of the running runtime.
	fromDump bool
	// unconfirmed are handlers of which it is not sure whether they are loaded.
	unconfirmed []string
	// broken are the handlers that can start no sandbox.
	broken map[string]Faults
	// expiring are the handlers that the next start of the runtime would not load, or
	// with which none of their Pods could start then; breaking are the latter.
	expiring, breaking map[string]bool
	// lost are the handlers that the runtime had before its last start.
	lost map[string]bool
	// findings are the kinds of the report's findings, also of one that knows no
	// handler.
	findings []FindingKind
	// standard is the default handler, "" if it is not known.
	standard string
	// offers are the features of the handlers, and cdi what is told of that.
	offers map[string]offers
	cdi    offers
}

// takeReport returns what a NodeRuntime says.
func (x *Index) takeReport(spec *v1alpha1.NodeRuntimeSpec) *pooled[reported] {
	s := x.signature[:0].text(spec.DefaultHandler).text(string(spec.Source)).flag(spec.CDI != nil)
	if spec.CDI != nil {
		s = s.flag(spec.CDI.Enabled)
	}
	s = s.number(int64(len(spec.Handlers)))
	for i := range spec.Handlers {
		handler := &spec.Handlers[i]
		s = s.text(handler.Name).number(int64(faultsOf(spec.Runtime.Name, handler))).flag(handler.Features != nil)
		if f := handler.Features; f != nil {
			s = s.flag(f.UserNamespaces).flag(f.RecursiveReadOnlyMounts)
		}
	}
	s = s.number(int64(len(spec.Findings)))
	for i := range spec.Findings {
		finding := &spec.Findings[i]
		s = s.text(finding.Code).text(string(finding.Severity)).text(finding.Handler)
	}
	s = s.flag(spec.Next != nil)
	if spec.Next != nil {
		for _, name := range spec.Next.Handlers {
			s = s.text(name)
		}
	}
	x.signature = s
	return x.reports.take(s, func() reported { return reportedOf(spec) })
}

func reportedOf(spec *v1alpha1.NodeRuntimeSpec) reported {
	r := reported{
		standard:    spec.DefaultHandler,
		offers:      map[string]offers{},
		fromDump:    spec.Source == v1alpha1.SourceConfigDump,
		unconfirmed: handlersWith(spec, v1alpha1.FindingHandlerUnconfirmed),
		findings:    kindsOf(spec.Findings),
	}
	for _, name := range handlersWith(spec, v1alpha1.FindingHandlerLost) {
		r.lost = with(r.lost, name)
	}
	if cdi := spec.CDI; cdi != nil {
		r.cdi.say(CDI, &cdi.Enabled)
	}
	expiring := handlersWith(spec, v1alpha1.FindingExpiring)
	for i := range spec.Handlers {
		handler := &spec.Handlers[i]
		r.handlers = append(r.handlers, handler.Name)
		if faults := faultsOf(spec.Runtime.Name, handler); faults != 0 {
			r.addBroken(handler.Name, faults)
		}
		switch next := spec.Next; {
		case next != nil && !slices.Contains(next.Handlers, handler.Name):
			r.expiring = with(r.expiring, handler.Name)
		case slices.Contains(expiring, handler.Name): // the next start loads it, and then
			r.expiring, r.breaking = with(r.expiring, handler.Name), with(r.breaking, handler.Name)
		}
		if features := handler.Features; features != nil {
			var told offers
			told.say(UserNamespaces, &features.UserNamespaces)
			told.say(RecursiveReadOnlyMounts, &features.RecursiveReadOnlyMounts)
			r.offers[handler.Name] = told
		}
	}
	slices.Sort(r.handlers)
	r.handlers = slices.Compact(r.handlers)
	if r.standard != "" && !slices.Contains(r.handlers, r.standard) {
		r.addBroken(r.standard, NotLoaded)
	}
	for _, finding := range spec.Findings {
		r.unproven = r.unproven || finding.Code == v1alpha1.FindingDumpNotProof
		r.down = r.down || finding.Code == v1alpha1.FindingRuntimeUnreachable
	}
	return r
}

func (r *reported) addBroken(name string, faults Faults) {
	if r.broken == nil {
		r.broken = map[string]Faults{}
	}
	r.broken[name] = faults
}

func isMissing(program *v1alpha1.Program) bool {
	return program != nil &&
		(program.State == v1alpha1.ProgramNotFound || program.State == v1alpha1.ProgramNotExecutable)
}

// with adds a name to a set that is made when it is needed.
func with(set map[string]bool, name string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}
