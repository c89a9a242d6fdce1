package inventory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// FromDump makes the NodeRuntime of a node out of a "containerd config dump"
// that was taken there at the time now. A dump without a running CRI plugin is
// refused: it does not say that nothing is loaded.
func FromDump(dump *config.Dump, node string, now time.Time) (*v1alpha1.NodeRuntime, error) {
	if dump.State != config.CRIOn {
		return nil, fmt.Errorf("nothing to publish for node %q: %s", node, dump.Reason)
	}
	handlers := dumpHandlers(dump)
	switch {
	case len(handlers) == 0:
		return nil, fmt.Errorf("nothing to publish for node %q: %s defines no handler", node, dump.Name)
	case len(handlers) > v1alpha1.MaxHandlers:
		return nil, fmt.Errorf("nothing to publish for node %q: %s defines %d handlers, a NodeRuntime holds %d",
			node, dump.Name, len(handlers), v1alpha1.MaxHandlers)
	}
	at := metav1.NewTime(now).Rfc3339Copy()
	report := &v1alpha1.NodeRuntime{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeRuntime"},
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: v1alpha1.NodeRuntimeSpec{
			Runtime:        v1alpha1.Runtime{Name: "containerd"},
			DefaultHandler: dump.DefaultHandler,
			Handlers:       handlers,
			Source:         v1alpha1.SourceConfigDump,
			ObservedAt:     at,
			RenewedAt:      at,
		},
	}
	if dump.CDI != nil {
		report.Spec.CDI = &v1alpha1.CDI{Enabled: *dump.CDI}
	}
	// One place is kept for the finding that must not be lost: without it the
	// list would be taken for complete.
	findings := typeless(handlers, dump.Name)
	report.Spec.Findings = findings[:min(len(findings), v1alpha1.MaxFindings-1)]
	if why := unproven(dump); why != "" {
		report.Spec.Findings = append(report.Spec.Findings, v1alpha1.Finding{
			Code:     v1alpha1.FindingDumpNotProof,
			Severity: v1alpha1.SeverityWarning,
			Message:  cut(why, v1alpha1.MaxMessage),
		})
	}
	report.Spec.Summary = summarize(&report.Spec)
	return report, nil
}

// dumpHandlers returns the handlers that are sure to be loaded, sorted by name.
func dumpHandlers(dump *config.Dump) []v1alpha1.Handler {
	all := config.CRI{Handlers: append(append([]config.Handler(nil), dump.Handlers...), dump.Extra...)}
	all.Sort()
	var handlers []v1alpha1.Handler
	for _, h := range all.Handlers {
		if presence, _ := dump.Look(h.Name); presence == config.Present {
			handlers = append(handlers, dumpHandler(h))
		}
	}
	return handlers
}

func dumpHandler(h config.Handler) v1alpha1.Handler {
	handler := v1alpha1.Handler{Name: h.Name, RuntimeType: h.RuntimeType}
	if h.RuntimePath != "" {
		handler.Shim = &v1alpha1.Program{Path: h.RuntimePath, State: v1alpha1.ProgramUnchecked}
	}
	if h.BinaryName != "" {
		handler.Binary = &v1alpha1.Program{Path: h.BinaryName, State: v1alpha1.ProgramUnchecked}
	}
	if h.RuntimeType == "" {
		// Whatever runtime_path says: a sandbox then fails with
		// "container.Runtime.Name must be set" (containerd 1.7 to 2.4).
		handler.Shim = &v1alpha1.Program{State: v1alpha1.ProgramNotFound}
	}
	return handler
}

// typeless are the findings about handlers that say no runtime_type.
func typeless(handlers []v1alpha1.Handler, file string) []v1alpha1.Finding {
	var findings []v1alpha1.Finding
	for i := range handlers {
		if name := handlers[i].Name; handlers[i].RuntimeType == "" {
			findings = append(findings, v1alpha1.Finding{
				Code:     "RuntimeTypeEmpty",
				Severity: v1alpha1.SeverityError,
				Handler:  name,
				Message:  cut(fmt.Sprintf("handler %q has no runtime_type in %s, so its sandboxes cannot start; set runtime_type", name, file), v1alpha1.MaxMessage),
			})
		}
	}
	return findings
}

// unproven says why a handler that the dump lacks may be loaded all the same.
func unproven(dump *config.Dump) string {
	switch {
	case !dump.IsDump:
		return fmt.Sprintf("%s is a config file and no dump (%s): other files may define more handlers", dump.Name, dump.FormReason)
	case dump.Incomplete != "":
		return dump.Incomplete
	case dump.MaybeUnmigrated:
		return dump.Name + " has the form of containerd 2.0.0 to 2.0.6, whose dumps (up to 2.0.5) leave out handlers of version 2 files"
	}
	return ""
}

// summarize repeats for kubectl get what a printer column cannot show.
func summarize(spec *v1alpha1.NodeRuntimeSpec) *v1alpha1.Summary {
	const most = 256
	var names, codes []string
	for i := range spec.Handlers {
		names = append(names, spec.Handlers[i].Name)
	}
	for i := range spec.Findings {
		if f := &spec.Findings[i]; f.Severity != v1alpha1.SeverityInfo && !slices.Contains(codes, f.Code) {
			codes = append(codes, f.Code)
		}
	}
	return &v1alpha1.Summary{
		Runtime:  cut(strings.TrimSpace(spec.Runtime.Name+" "+spec.Runtime.Version), most),
		Handlers: cut(strings.Join(names, ", "), most),
		Findings: cut(strings.Join(codes, ", "), most),
	}
}

// cut shortens a text to at most that many characters.
func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
