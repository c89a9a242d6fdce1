package config

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Severity says how much a finding matters.
type Severity string

// The severities, the gravest first.
const (
	// Error: Pods fail, or will after the next start.
	Error Severity = "Error"
	// Warning: something does not do what it was written for.
	Warning Severity = "Warning"
	// Info: worth knowing; also on a healthy node.
	Info Severity = "Info"
)

func (s Severity) rank() int { return slices.Index([]Severity{Error, Warning, Info}, s) }

// The codes of findings.
const (
	CodeBinaryNameIgnored    = "BinaryNameIgnored"
	CodeBinaryNotExecutable  = "BinaryNotExecutable"
	CodeBinaryNotFound       = "BinaryNotFound"
	CodeCRIDisabled          = "CRIDisabled"
	CodeDaemonWillNotStart   = "DaemonWillNotStart"
	CodeDefaultChanged       = "DefaultChanged"
	CodeDefaultMissing       = "DefaultMissing"
	CodeDumpNotProof         = "DumpNotProof"
	CodeDuplicateOwner       = "DuplicateOwner"
	CodeGeneratedFile        = "GeneratedFile"
	CodeHandlerDropped       = "HandlerDropped"
	CodeHigherDropInVersion  = "HigherDropInVersion"
	CodeImportMatchesNothing = "ImportMatchesNothing"
	CodeLostInMigration      = "LostInMigration"
	CodeNotImported          = "NotImported"
	CodeOptionWrongType      = "OptionWrongType"
	CodeOldPluginName        = "OldPluginName"
	CodeOverridden           = "Overridden"
	CodeRuntimeTypeEmpty     = "RuntimeTypeEmpty"
	CodeSectionReplaced      = "SectionReplaced"
	CodeShimNotExecutable    = "ShimNotExecutable"
	CodeShimNotFound         = "ShimNotFound"
	CodeTemplateReplacesBase = "TemplateReplacesBase"
	CodeTwoNames             = "TwoPluginNames"
	CodeTypeReplaced         = "TypeReplaced"
	CodeUnknownKey           = "UnknownKey"
	CodeUnknownPlugin        = "UnknownPlugin"
	CodeUnreferencable       = "UnreferencableHandler"
	CodeWrongParentTable     = "WrongParentTable"
	CodeWrongPluginName      = "WrongPluginName"
)

// Codes are all of them.
var Codes = []string{
	CodeBinaryNameIgnored, CodeBinaryNotExecutable, CodeBinaryNotFound, CodeCRIDisabled, CodeDaemonWillNotStart,
	CodeDefaultChanged, CodeDefaultMissing, CodeDumpNotProof, CodeDuplicateOwner, CodeGeneratedFile,
	CodeHandlerDropped, CodeHigherDropInVersion, CodeImportMatchesNothing, CodeLostInMigration, CodeNotImported,
	CodeOldPluginName, CodeOptionWrongType, CodeOverridden, CodeRuntimeTypeEmpty, CodeSectionReplaced, CodeShimNotExecutable,
	CodeShimNotFound, CodeTemplateReplacesBase, CodeTwoNames, CodeTypeReplaced, CodeUnknownKey, CodeUnknownPlugin, CodeUnreferencable,
	CodeWrongParentTable, CodeWrongPluginName,
}

// A Finding is one thing that is wrong, or worth knowing.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Handler  string   `json:"handler,omitempty"`
	// Message is one line: what is wrong.
	Message string `json:"message"`
	// Fix is one line: what mends it.
	Fix string `json:"fix,omitempty"`
}

// FixBeforeRestart is the Fix of files with which a runtime that runs would not start
// again.
const FixBeforeRestart = "mend this before the runtime restarts: one that runs goes on with what it has loaded until then"

// maxFindings bounds the findings of a hostile tree.
const maxFindings = 500

// A finder collects findings.
type finder struct {
	*loader
	r     *Result
	final *CRI
	found []Finding
}

func (f *finder) add(code string, severity Severity, at Place, handler, fix, format string, args ...any) {
	if len(f.found) < maxFindings {
		f.found = append(f.found, Finding{Code: code, Severity: severity, File: at.File, Line: at.Line, Handler: handler, Fix: fix, Message: fmt.Sprintf(format, args...)})
	}
}

func (l *loader) findings(r *Result, passed []*File) []Finding {
	f := &finder{loader: l, r: r, final: r.Final()}
	f.state()
	f.defaults()
	for i := range r.Handlers {
		f.handler(&r.Handlers[i])
		f.origins(&r.Handlers[i])
	}
	f.replacedBuiltin()
	f.imports()
	f.versions()
	f.twoNames()
	f.generated()
	slices.SortStableFunc(f.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.rank(), b.Severity.rank()), cmp.Compare(order(a.Code), order(b.Code)),
			strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Handler, b.Handler), strings.Compare(a.Code, b.Code))
	})
	return slices.Compact(f.found)
}

// order puts what concerns the whole node before what concerns one handler.
func order(code string) int {
	i := slices.Index([]string{CodeDaemonWillNotStart, CodeCRIDisabled, CodeDefaultMissing}, code)
	if i < 0 {
		return 3
	}
	return i
}

func (f *finder) loaded(name string) bool {
	_, ok := f.final.Handler(name)
	return ok
}

// main is the place to name when there is none better.
func (f *finder) main() Place { return Place{File: f.opt.Path, Line: 1} }

// find is the last place in the files read that has that key, and else main.
func (f *finder) find(tail ...string) Place {
	for _, file := range slices.Backward(f.files) {
		if file.doc == nil {
			continue
		}
		for _, m := range slices.Backward(file.doc.marks) {
			if len(m.path) >= len(tail) && slices.Equal(m.path[len(m.path)-len(tail):], tail) {
				return Place{File: file.Path, Line: m.at.line}
			}
		}
	}
	return f.main()
}

// state reports a daemon that is down or serves no Pods.
func (f *finder) state() {
	switch f.r.Daemon.State {
	case NoStart:
		at, about := f.stoppedAt()
		f.add(CodeDaemonWillNotStart, Error, at, "", FixBeforeRestart,
			"%s will not start: %s%s", f.rt, f.r.Daemon.Reason, about)
		if strings.Contains(f.r.Daemon.Reason, `invalid disabled plugin URI "cri"`) {
			f.add(CodeCRIDisabled, Error, f.find("disabled_plugins"), "", `take "cri" out of disabled_plugins`,
				"disabled_plugins names the CRI plugin: under its right name too it would serve no Pods")
		}
	case CRIOff:
		at, fix := f.ofHandler(f.r.Daemon.Reason), "mend the cause before the runtime restarts"
		switch {
		case strings.HasPrefix(f.r.Daemon.Reason, "disabled_plugins"):
			at, fix = f.find("disabled_plugins"), "take the plugin out of disabled_plugins"
		case strings.Contains(f.r.Daemon.Reason, "default_runtime_name"):
			at = f.find("default_runtime_name")
		}
		f.add(CodeCRIDisabled, Error, at, "", fix, "%s would start but serve no Pods: %s", f.rt, f.r.Daemon.Reason)
	}
	if f.rt.Name == Containerd && !f.rt.dumpMigrates() && f.r.Daemon.State == Running && !slices.Equal(f.r.Dump.CRI.Names(), f.r.Daemon.CRI.Names()) {
		f.add(CodeDumpNotProof, Info, f.main(), "", `believe the CRI Status or "containerd config migrate"`,
			`"containerd config dump" of %s does not show what a version 2 file defines (containerd#11600): the daemon loads more`, f.rt.Version)
	}
}

// errorLine takes the line out of a TOML library's message.
func errorLine(msg string) int {
	var line, column int
	for i := range msg {
		if n, _ := fmt.Sscanf(msg[i:], "row %d column %d", &line, &column); n == 2 {
			return line
		}
		if n, _ := fmt.Sscanf(msg[i:], "(%d, %d)", &line, &column); n == 2 {
			return line
		}
	}
	return 1
}

// defaults reports a default handler that is not there, or that a drop-in chose.
func (f *finder) defaults() {
	cri := f.r.Dump.CRI
	if f.r.Daemon.State == Running {
		cri = f.r.Daemon.CRI
	}
	if f.r.Dump.Exit != 0 || f.r.Dump.Unreadable || f.r.Daemon.State == CRIOff && strings.HasPrefix(f.r.Daemon.Reason, "disabled_plugins") {
		return
	}
	at := f.find("default_runtime_name")
	if f.rt.Name == CRIO {
		at = f.find("crio", "runtime", "default_runtime")
	}
	switch _, ok := cri.Handler(cri.DefaultHandler); {
	case cri.DefaultHandler == "" && f.rt.Name == Containerd:
		f.add(CodeDefaultMissing, Error, at, "", "set default_runtime_name to a handler that is defined",
			"the default handler is empty: the CRI plugin does not come up, and every Pod of the node fails")
	case !ok && f.rt.Name == Containerd:
		f.add(CodeDefaultMissing, Error, at, cri.DefaultHandler, fmt.Sprintf("define [%s], or set default_runtime_name to one of: %s", f.tableFor(cri.DefaultHandler), names(cri.Names())),
			"the default handler %q is not defined: the CRI plugin does not come up, and every Pod of the node fails", cri.DefaultHandler)
	}
	if at.File != f.opt.Path && cri.DefaultHandler != "" && f.r.Daemon.State == Running && f.loaded(cri.DefaultHandler) && cri.DefaultHandler != "runc" {
		f.add(CodeDefaultChanged, Info, at, cri.DefaultHandler, "",
			"this drop-in makes %q the default handler: every Pod without a RuntimeClass goes through it", cri.DefaultHandler)
	}
}

func names(list []string) string {
	if len(list) == 0 {
		return "none is"
	}
	if len(list) > 5 {
		list = append(slices.Clone(list[:5]), fmt.Sprintf("and %d more", len(list)-5))
	}
	return strings.Join(list, ", ")
}

// tableFor is where a handler belongs in the version at hand.
func (f *finder) tableFor(name string) string {
	switch {
	case f.rt.Name == CRIO:
		return "crio.runtime.runtimes." + quoteKey(name)
	case f.rt.class() == classA:
		version := 1
		for _, file := range f.files {
			if file.Version != 0 {
				version = file.Version
			}
		}
		return tableText([]string{"plugins", criName1(version), "containerd", "runtimes", name})
	}
	for _, file := range f.files {
		if _, ok := file.doc.below("plugins", runtimeCRI); ok {
			return tableText([]string{"plugins", runtimeCRI, "containerd", "runtimes", name})
		}
	}
	if len(f.files) > 0 && f.files[0].Version == 2 {
		return tableText([]string{"plugins", oldCRI, "containerd", "runtimes", name})
	}
	return tableText([]string{"plugins", runtimeCRI, "containerd", "runtimes", name})
}

// IsGenerated tells whether k3s or RKE2 write a file anew at every start.
func IsGenerated(file string) bool {
	return strings.Contains(file, "/rancher/") && path.Base(file) == "config.toml"
}

// generated reports files that something writes anew at every start.
func (f *finder) generated() {
	for _, file := range f.files {
		if IsGenerated(file.Path) {
			f.add(CodeGeneratedFile, Info, Place{file.Path, 1}, "", "put changes into config.toml.tmpl (config-v3.toml.tmpl for containerd 2) beside it",
				"k3s and RKE2 write this file anew at every start: what was changed in it by hand is gone then")
			f.template(file)
		}
	}
}
