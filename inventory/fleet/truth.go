package fleet

import (
	"slices"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// An Answer is yes, no, or that nobody knows; in the words of a condition's status,
// which YAML keeps as they are.
type Answer string

// The answers.
const (
	Yes       Answer = "True"
	No        Answer = "False"
	NotKnown  Answer = "Unknown"
	NoMeaning Answer = "" // the question does not arise
)

// A Truth is what is known of a handler on a node, from what somebody wrote to
// what can run.
type Truth struct {
	// Written: some file defines it, whether or not the runtime reads it.
	Written Answer
	// Next: the next start of the runtime would load it.
	Next Answer
	// Loaded: the running runtime has it.
	Loaded Answer
	// Runnable: its shim and OCI runtime are there.
	Runnable Answer
	// State sums it up.
	State inventory.HandlerState
	// Findings are those of the report about the handler, and those that keep all
	// Pods of the node from starting.
	Findings []v1alpha1.Finding
}

// unreadCodes are findings about a handler that a file defines and the runtime
// does not get.
var unreadCodes = []string{
	config.CodeNotImported, config.CodeOverridden, config.CodeSectionReplaced, config.CodeOldPluginName, config.CodeWrongPluginName,
	config.CodeWrongParentTable, config.CodeUnknownPlugin, config.CodeLostInMigration, config.CodeHandlerDropped, config.CodeTwoNames,
	config.CodeHigherDropInVersion,
}

// wholeNodeCodes are findings that concern every Pod of a node.
var wholeNodeCodes = []string{
	v1alpha1.FindingDefaultBroken, v1alpha1.FindingRuntimeUnreachable, v1alpha1.FindingCRITooOld, v1alpha1.FindingTooManyHandlers,
	config.CodeDaemonWillNotStart, config.CodeCRIDisabled, config.CodeDefaultMissing,
}

// IsOfWholeNode says whether a finding concerns every Pod of its node.
func IsOfWholeNode(code string) bool { return slices.Contains(wholeNodeCodes, code) }

// Truth says what is known of a handler on the node; "" is the default one.
func (n *Node) Truth(handler string) Truth {
	t := Truth{
		Written: NotKnown, Next: NotKnown, Loaded: NotKnown, Runnable: NoMeaning,
		State: n.States([]string{handler})[handler],
	}
	name := handler
	if name == "" {
		name = n.Default()
	}
	for _, f := range n.Findings() {
		if f.Handler == name && name != "" || IsOfWholeNode(f.Code) {
			t.Findings = append(t.Findings, f)
		}
	}
	switch t.State {
	case inventory.Loaded, inventory.Expiring:
		t.Loaded, t.Runnable = Yes, NotKnown
	case inventory.Broken:
		t.Loaded, t.Runnable = Yes, No
	case inventory.Lost, inventory.Lacking:
		t.Loaded = No
	}
	if n.Freshness == inventory.Fresh && name != "" {
		t.report(&n.Report.Spec, name)
	}
	return t
}

// report adds what a report tells of a handler.
func (t *Truth) report(spec *v1alpha1.NodeRuntimeSpec, name string) {
	at := slices.IndexFunc(spec.Handlers, func(h v1alpha1.Handler) bool { return h.Name == name })
	if at < 0 && t.Loaded == Yes {
		// A default handler that is not loaded.
		t.Loaded, t.Runnable = No, NoMeaning
	}
	if at >= 0 && t.Runnable == NotKnown {
		t.Runnable = runnable(&spec.Handlers[at])
	}
	unread := slices.ContainsFunc(t.Findings, func(f v1alpha1.Finding) bool {
		return f.Handler == name && f.File != "" && (f.Code == v1alpha1.FindingExpiring || slices.Contains(unreadCodes, f.Code))
	})
	switch {
	case spec.Next == nil:
	case slices.Contains(spec.Next.Handlers, name):
		t.Next, t.Written = Yes, Yes
	case slices.ContainsFunc(t.Findings, func(f v1alpha1.Finding) bool { return f.Code == config.CodeDaemonWillNotStart }):
		// A file that cannot be read, as one with a syntax error, may define it.
		t.Next = No
	default:
		t.Next, t.Written = No, No
	}
	gone := slices.ContainsFunc(t.Findings, func(f v1alpha1.Finding) bool {
		return f.Handler == name && f.File == "" && f.Code == v1alpha1.FindingExpiring
	})
	if unread || at >= 0 && spec.Handlers[at].Origin != "" && !gone {
		t.Written = Yes
	}
}

// isUnlooked says whether of some handler that is loaded it is not known if it can run,
// as a reporter tells that does not see the host's root.
func (n *Node) isUnlooked() bool {
	return n.Freshness == inventory.Fresh && slices.ContainsFunc(n.Report.Spec.Handlers, func(h v1alpha1.Handler) bool { return runnable(&h) == NotKnown })
}

// runnable says whether the programs of a handler are there.
func runnable(h *v1alpha1.Handler) Answer {
	found := false
	for _, p := range []*v1alpha1.Program{h.Shim, h.Binary} {
		switch {
		case p == nil:
		case p.State == v1alpha1.ProgramFound:
			found = true
		case p.State == v1alpha1.ProgramUnchecked:
			return NotKnown
		default:
			return No
		}
	}
	if !found {
		return NotKnown
	}
	return Yes
}
