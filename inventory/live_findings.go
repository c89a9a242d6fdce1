package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// findings are what is wrong or about to go wrong, the most severe first, no
// more than a NodeRuntime holds.
func (l *live) findings() []v1alpha1.Finding {
	l.defaultHandler()
	for _, h := range l.Loaded.Handlers {
		if nameable(h.Name) {
			l.programs(h)
		}
	}
	switch {
	case l.spec.Next == nil:
		l.add(v1alpha1.FindingNextUnknown, v1alpha1.SeverityWarning, config.Place{}, "",
			"what the next start of the runtime loads is not known: %s", l.NextUnknown)
	case l.Next.Daemon.State == config.Running:
		l.expiring()
		l.pending()
	}
	l.ofFiles()
	l.history()
	slices.SortStableFunc(l.found, func(a, b v1alpha1.Finding) int {
		return cmp.Or(cmp.Compare(severityRank(a.Severity), severityRank(b.Severity)), cmp.Compare(codeRank(a.Code), codeRank(b.Code)),
			strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Handler, b.Handler), strings.Compare(a.Code, b.Code))
	})
	return bounded(slices.Compact(l.found))
}

// bounded takes out the least severe of too many findings, but last of all those without
// which a handler would be taken for loaded, or for missing, that may be neither.
func bounded(found []v1alpha1.Finding) []v1alpha1.Finding {
	for i := len(found) - 1; i >= 0 && len(found) > v1alpha1.MaxFindings; i-- {
		if found[i].Code != v1alpha1.FindingHandlerUnconfirmed {
			found = slices.Delete(found, i, i+1)
		}
	}
	return found[:min(len(found), v1alpha1.MaxFindings)]
}

func severityRank(s v1alpha1.Severity) int {
	return slices.Index([]v1alpha1.Severity{v1alpha1.SeverityError, v1alpha1.SeverityWarning, v1alpha1.SeverityInfo}, s)
}

// codeRank puts what concerns all Pods of the node before what concerns one
// handler, and what is now before what will be.
func codeRank(code string) int {
	order := []string{
		v1alpha1.FindingTooManyHandlers, v1alpha1.FindingDefaultBroken, config.CodeDaemonWillNotStart, config.CodeCRIDisabled, config.CodeDefaultMissing,
		v1alpha1.FindingHandlerUnconfirmed, v1alpha1.FindingHandlerLost, v1alpha1.FindingBroken, v1alpha1.FindingExpiring, v1alpha1.FindingRestartPending,
	}
	switch i := slices.Index(order, code); {
	case i >= 0:
		return i
	case code == v1alpha1.FindingRestartStorm:
		return len(order) + 1 // it stays for a while, and is seldom the cause
	}
	return len(order)
}

func (l *live) add(code string, severity v1alpha1.Severity, at config.Place, handler, format string, args ...any) {
	if !nameable(handler) {
		handler = ""
	}
	l.found = append(l.found, v1alpha1.Finding{
		Code: code, Severity: severity, File: cut(at.File, 4096), Line: int32(min(max(at.Line, 0), math.MaxInt32)),
		Handler: handler, Message: cut(oneLine(fmt.Sprintf(format, args...)), v1alpha1.MaxMessage),
	})
}

// oneLine takes line breaks out, which a runtime's error may have.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

const wholeNode = "every Pod of this node without a RuntimeClass fails, those of the system too"

// defaultHandler reports a default handler that is not loaded.
func (l *live) defaultHandler() {
	name := l.Loaded.DefaultHandler
	if _, ok := l.Loaded.Handler(name); ok || name == "" {
		return
	}
	l.add(v1alpha1.FindingDefaultBroken, v1alpha1.SeverityError, config.Place{}, name,
		"the default handler %q is not loaded: %s; define it, or make one that is loaded the default", name, wholeNode)
}

// programs reports a loaded handler that can't start a sandbox.
func (l *live) programs(h config.Handler) {
	code, severity, all := v1alpha1.FindingBroken, v1alpha1.SeverityWarning, ""
	if h.Name == l.Loaded.DefaultHandler {
		code, severity, all = v1alpha1.FindingDefaultBroken, v1alpha1.SeverityError, "; it is the default handler: "+wholeNode
	}
	at := config.Place{}
	if file := l.report(h.Name); file != nil {
		at = origin(file)
	}
	if l.typeless(h) {
		l.amiss = append(l.amiss, h.Name)
		l.add(code, severity, at, h.Name, "handler %q has no runtime_type: none of its Pods can start%s; set runtime_type", h.Name, all)
		return
	}
	for _, f := range l.runnability(h).Findings(h, false) {
		l.amiss = append(l.amiss, h.Name)
		l.add(code, severity, at, h.Name, "%s%s; %s", f.Message, all, f.Fix)
	}
}

// expiring reports what is loaded and gone after the next restart.
func (l *live) expiring() {
	for _, h := range l.spec.Handlers {
		if slices.Contains(l.spec.Next.Handlers, h.Name) {
			continue
		}
		at, why, remedy := l.lost(h.Name)
		radius := ""
		if h.Name == l.Loaded.DefaultHandler {
			radius = ", the default of this node,"
		}
		l.add(v1alpha1.FindingExpiring, v1alpha1.SeverityError, at, h.Name,
			"handler %q%s is loaded, but the next restart of %s takes it away: %s; %s before the node reboots", h.Name, radius, l.Loaded.RuntimeName, why, remedy)
	}
}

// lost says what keeps a handler from being loaded at a start, where, and what
// helps.
func (l *live) lost(name string) (at config.Place, why, remedy string) {
	file := l.report(name)
	if file == nil || len(file.Origins) == 0 {
		return config.Place{}, "no file defines it any more", "write it again (for an installer such as the NVIDIA toolkit: let its DaemonSet do so)"
	}
	for _, o := range slices.Backward(file.Origins) {
		if o.Why == "" {
			continue
		}
		at := config.Place{File: o.File, Line: o.Line}
		if o.By != nil {
			at = *o.By
		}
		return at, o.Why, "mend the files"
	}
	return origin(file), "see the other findings", "mend the files"
}

// breaks says why a handler that the next start loads could start no Pod then; ""
// if nothing is known against it.
func (l *live) breaks(h config.Handler) string {
	if l.typeless(h) {
		return "its files no longer give it a runtime_type"
	}
	if file := l.report(h.Name); file != nil {
		for _, f := range file.Runnability.Findings(h, false) {
			return f.Message
		}
	}
	return ""
}

// pending reports what the files have and the runtime has not loaded.
func (l *live) pending() {
	next := &l.Next.Daemon.CRI
	for _, h := range next.Handlers {
		at := config.Place{}
		if file := l.report(h.Name); file != nil {
			at = origin(file)
		}
		loaded, ok := l.Loaded.Handler(h.Name)
		breaks := l.breaks(h)
		changed := l.changed(h.Name)
		if ok && len(changed) > 0 {
			l.amiss = append(l.amiss, h.Name)
		}
		if ok && l.Loaded.RuntimeName == config.Containerd && loaded != h { // others don't tell all of this
			l.amiss = append(l.amiss, h.Name)
		}
		switch {
		case !ok && breaks != "":
			l.add(v1alpha1.FindingRestartPending, v1alpha1.SeverityWarning, at, h.Name,
				"handler %q is defined, but %s has not loaded it, and none of its Pods could start: %s; mend that, then restart %s", h.Name, l.Loaded.RuntimeName, breaks, l.Loaded.RuntimeName)
		case !ok:
			l.add(v1alpha1.FindingRestartPending, v1alpha1.SeverityWarning, at, h.Name,
				"handler %q is defined, but %s has not loaded it: %s", h.Name, l.Loaded.RuntimeName, l.restart(""))
		case l.Loaded.RuntimeName == config.Containerd && loaded != h && breaks != "":
			l.add(v1alpha1.FindingExpiring, v1alpha1.SeverityError, at, h.Name,
				"handler %q is loaded with %s, but after the next restart of %s none of its Pods can start: %s; mend the files before the node reboots",
				h.Name, settings(loaded), l.Loaded.RuntimeName, breaks)
		case l.Loaded.RuntimeName == config.Containerd && loaded != h || len(changed) > 0:
			// Other runtimes don't tell all of this.
			var now, then []string
			if loaded != h {
				now, then = append(now, settings(loaded)), append(then, settings(h))
			}
			for _, key := range changed[:min(len(changed), maxChanged)] {
				now, then = append(now, setting(&l.Loaded.CRI, h.Name, key)), append(then, setting(next, h.Name, key))
			}
			l.add(v1alpha1.FindingRestartPending, v1alpha1.SeverityWarning, at, h.Name,
				"handler %q is loaded with %s, its files now say %s: %s", h.Name, strings.Join(now, " and "), strings.Join(then, " and "), l.restart(l.first(h.Name)))
		}
	}
	if now, then := l.Loaded.DefaultHandler, next.DefaultHandler; now != "" && then != "" && now != then {
		l.add(v1alpha1.FindingRestartPending, v1alpha1.SeverityWarning, config.Place{}, then,
			"the next restart of %s makes %q the default handler in place of %q", l.Loaded.RuntimeName, then, now)
	}
}

// maxChanged bounds the settings that one finding names.
const maxChanged = 3

// changed are the keys of a handler that its files set otherwise than the runtime has
// them loaded, if it tells. What is off or empty is the same as not set.
func (l *live) changed(handler string) []string {
	loaded, ok := l.Loaded.Settings[handler]
	next := l.Next.Daemon.CRI.Settings[handler]
	if !ok || next == nil {
		return nil
	}
	keys := map[string]bool{}
	for key, value := range loaded {
		keys[key] = next[key] != value
	}
	for key, value := range next {
		keys[key] = loaded[key] != value
	}
	maps.DeleteFunc(keys, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(keys))
}

// setting is what is set for a key of a handler.
func setting(cri *config.CRI, handler, key string) string {
	if value, ok := cri.Settings[handler][key]; ok {
		return key + " = " + value
	}
	return "no " + key
}

// first says what to look at before a restart for what the files say of a handler: a
// table of it may be without effect.
func (l *live) first(handler string) string {
	for _, f := range l.Next.Findings {
		if f.Handler == handler && slices.Contains(unread, f.Code) {
			return fmt.Sprintf("see the finding %s of it", f.Code)
		}
	}
	return ""
}

// restart says to restart the runtime, but to do first what else there is to do: a
// restart takes away what is Expiring.
func (l *live) restart(before string) string {
	if slices.ContainsFunc(l.found, func(f v1alpha1.Finding) bool { return f.Code == v1alpha1.FindingExpiring }) {
		if before != "" {
			before += ", "
		}
		before += "mend what is Expiring"
	}
	if before == "" {
		return "restart " + l.Loaded.RuntimeName
	}
	return fmt.Sprintf("first %s, then restart %s", before, l.Loaded.RuntimeName)
}

// settings are what decides what a handler starts.
func settings(h config.Handler) string {
	var all []string
	for _, s := range [][2]string{{"runtime_type", h.RuntimeType}, {"runtime_path", h.RuntimePath}, {"BinaryName", h.BinaryName}} {
		if s[1] != "" {
			all = append(all, fmt.Sprintf("%s %q", s[0], s[1]))
		}
	}
	if len(all) == 0 {
		return "no runtime_type"
	}
	return strings.Join(all, " and ")
}

// told are the codes of the loader that say of the next start what Broken says
// of the running runtime.
var told = []string{
	config.CodeShimNotFound, config.CodeShimNotExecutable, config.CodeBinaryNotFound, config.CodeBinaryNotExecutable, config.CodeRuntimeTypeEmpty,
}

// unread are the codes of the loader about a table that the runtime does not take, or
// takes away. Where another place gives the handler all the same, what this one says of it
// may be what is missing: of a handler with which something is amiss that is told.
var unread = []string{
	config.CodeNotImported, config.CodeOldPluginName, config.CodeWrongPluginName, config.CodeWrongParentTable, config.CodeUnknownPlugin,
	config.CodeSectionReplaced, config.CodeLostInMigration, config.CodeTypeReplaced,
	config.CodeUnknownKey, config.CodeOptionWrongType,
}

// ofFiles takes over the loader's findings from Warning upwards, and of those below
// what explains a drift.
func (l *live) ofFiles() {
	if l.Next == nil {
		return
	}
	broken := map[string]bool{}
	for _, f := range l.found {
		if f.Code == v1alpha1.FindingBroken || f.Code == v1alpha1.FindingDefaultBroken {
			broken[f.Handler] = true
		}
	}
	grave := false
	for _, f := range l.Next.Findings {
		if f.Severity == config.Info && slices.Contains(l.amiss, f.Handler) && slices.Contains(unread, f.Code) {
			f.Severity = config.Warning
		}
		if f.Severity == config.Info || broken[f.Handler] && slices.Contains(told, f.Code) {
			continue
		}
		grave = grave || f.Severity == config.Error
		text := f.Message
		if f.Fix != "" {
			text += "; " + f.Fix
		}
		l.add(f.Code, v1alpha1.Severity(f.Severity), config.Place{File: f.File, Line: f.Line}, f.Handler, "%s", text)
	}
	if l.Next.Daemon.State != config.Running && !grave {
		l.add(config.CodeCRIDisabled, v1alpha1.SeverityError, config.Place{}, "",
			"after the next restart no Pod of this node can start: %s", l.Next.Daemon.Reason)
	}
}
