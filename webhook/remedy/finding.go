package remedy

import (
	"fmt"
	"strings"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A finding is what a Site's report found, with what its steps say of it.
type finding struct {
	*Site
	v1alpha1.Finding
}

// at is the place to mend.
func (f *finding) at() string {
	switch {
	case f.File == "":
		return "the file that defines it"
	case f.Line == 0:
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// ForFinding returns what to do about a finding of a node's report.
func ForFinding(found v1alpha1.Finding, site Site) []Step {
	if found.Handler != "" {
		site.Handler = found.Handler
	}
	f := &finding{&site, found}
	if steps, ok := byCode[found.Code]; ok {
		return steps(f)
	}
	return []Step{f.mend("Do what the finding says."), f.explain()}
}

// byCode has a remedy for each code.
var byCode = map[string]func(*finding) []Step{
	v1alpha1.FindingHandlerLost:        (*finding).lost,
	v1alpha1.FindingExpiring:           (*finding).expiring,
	v1alpha1.FindingRestartPending:     (*finding).pending,
	v1alpha1.FindingBroken:             (*finding).broken,
	v1alpha1.FindingDefaultBroken:      (*finding).defaultBroken,
	v1alpha1.FindingRuntimeUnreachable: (*finding).unreachable,
	v1alpha1.FindingHandlerUnconfirmed: (*finding).unconfirmed,
	v1alpha1.FindingTooManyHandlers:    (*finding).tooMany,
	v1alpha1.FindingRestartStorm:       (*finding).storm,
	v1alpha1.FindingNextUnknown:        (*finding).nextUnknown,
	v1alpha1.FindingDumpNotProof:       (*finding).dumpNotProof,
	v1alpha1.FindingUnnameable:         (*finding).rename,
	v1alpha1.FindingCRITooOld:          (*finding).tooOld,

	config.CodeDaemonWillNotStart: (*finding).nextStart,
	config.CodeCRIDisabled:        (*finding).nextStart,
	config.CodeDefaultMissing:     (*finding).nextStart,

	config.CodeUnreferencable: (*finding).rename,
	config.CodeGeneratedFile:  (*finding).generated,

	config.CodeTemplateReplacesBase: (*finding).template,

	config.CodeDefaultChanged: (*finding).defaultChanged,

	config.CodeShimNotFound:        (*finding).program,
	config.CodeShimNotExecutable:   (*finding).program,
	config.CodeBinaryNotFound:      (*finding).program,
	config.CodeBinaryNotExecutable: (*finding).program,

	config.CodeNotImported:          rewrite("Move the file to where the runtime reads it, or extend imports in the main file."),
	config.CodeImportMatchesNothing: rewrite("Rename the files so that the pattern matches them, or change the pattern."),
	config.CodeOverridden:           rewrite("Let one file define it: a later one takes it away."),
	config.CodeSectionReplaced:      rewrite("Repeat the whole section in the file that replaces it, or move all of it into one file: containerd 1.x does not merge."),
	config.CodeTypeReplaced:         rewrite("Take the value out that stands where a table has to be: it takes away all that earlier files have in that table."),
	config.CodeHandlerDropped:       rewrite("Define it again in the file that leaves it out."),
	config.CodeDuplicateOwner:       rewrite("Keep it in one file, so that what wins does not depend on the files' names."),
	config.CodeHigherDropInVersion:  rewrite("Give the drop-in the version of the main file, and the plugin names of that version."),
	config.CodeLostInMigration:      rewrite("Give all files one version and one plugin name."),
	config.CodeOldPluginName:        rewrite("Use the plugin name that this version of the file has."),
	config.CodeWrongPluginName:      rewrite("Use the plugin name that this version of the file has."),
	config.CodeTwoNames:             rewrite("Keep one of the two names of the CRI plugin."),
	config.CodeUnknownPlugin:        rewrite("Use the name of the CRI plugin: no plugin has this one."),
	config.CodeWrongParentTable:     rewrite("Put the table where handlers are read."),
	config.CodeRuntimeTypeEmpty:     rewrite("Set runtime_type."),
	config.CodeBinaryNameIgnored:    rewrite("Give the shim its own options, or use the runc shim: another takes no notice of BinaryName."),
}

// mend is the step that mends what the finding names.
func (f *finding) mend(what string) Step {
	return Step{Phase: Mend, On: f.on(), Do: fmt.Sprintf("Mend %s. %s", f.at(), what)}
}

// explain is the step that checks files before anything starts with them.
func (f *finding) explain() Step {
	return Step{Phase: Check, On: f.first(), Do: "Check the files before anything starts with them: this finding is gone.", Run: []string{"runtimegate explain"}}
}

// rewrite is the remedy of a file that says what it should not.
func rewrite(what string) func(*finding) []Step {
	return func(f *finding) []Step {
		steps := []Step{f.mend(what), f.explain(), f.drain(), f.start()}
		if f.Finding.Handler != "" {
			steps = append(steps, f.loaded())
		}
		return steps
	}
}

// hold is the step that keeps the runtime running as it is.
func (f *finding) hold(why string) Step {
	return Step{Phase: Hold, Do: fmt.Sprintf("Restart nothing on %s until this is mended, and hold back node upgrades and reboots: %s.", f.on(), why)}
}

// lost is the remedy of a handler that went with a restart. Never restart first: a
// runtime that starts without the file counts as one that never had it.
func (f *finding) lost() []Step {
	steps := []Step{f.see()}
	if f.File == "" {
		steps = append(steps, f.bring())
	} else {
		steps = append(steps, f.mend("There the handler is taken away, or was."))
		steps = append(steps, f.keep()...)
	}
	return append(steps, f.next(), f.start(), f.loaded())
}

// keep has the handler's installer run, if one is known.
func (f *finding) keep() []Step {
	i := f.installer()
	if i.name == "" {
		return nil
	}
	return []Step{{Phase: Mend, Do: fmt.Sprintf("See that %s runs on %s: its file is gone when it ends, and a restart would load nothing.", i.name, f.on()),
		Run: []string{"kubectl get daemonsets,pods -A -o wide | grep " + i.pods}}}
}

func (f *finding) expiring() []Step {
	steps := []Step{f.hold(fmt.Sprintf("the next start takes handler %q away", f.Site.Handler))}
	if f.File != "" {
		steps = append(steps, f.mend("That is what takes the handler away."))
	} else {
		steps = append(steps, f.bring())
	}
	return append(steps, f.next(), f.again("the finding is gone. No restart is needed: what is loaded was never wrong."))
}

func (f *finding) pending() []Step {
	steps := append([]Step{f.see()}, f.keep()...)
	return append(steps, f.next(), f.drain(), f.start(), f.loaded())
}

// broken is the remedy of programs that are not there.
func (f *finding) broken() []Step {
	steps := f.Site.install(f.at())
	if strings.Contains(f.Message, "no runtime_type") {
		return []Step{f.mend("Set runtime_type: without one no Pod of the handler can start."), f.explain(), f.drain(), f.start(), f.again("the finding is gone.")}
	}
	if len(steps) == 0 {
		steps = []Step{{Phase: Mend, On: f.on(), Do: f.Message + "."}}
	}
	return append(steps, f.again("the finding is gone. A restart is needed only if a file was changed."))
}

func (f *finding) program() []Step {
	return []Step{{Phase: Mend, On: f.on(), Do: fmt.Sprintf("Install the program, make it executable, or correct the path in %s: %s.", f.at(), f.Message)},
		f.again("the finding is gone. A restart is needed only if a file was changed.")}
}

// install are the steps that put programs where they are looked for.
func (s *Site) install(at string) (steps []Step) {
	i := s.installer()
	by := ""
	if i.name != "" {
		by = ", with " + i.name
	}
	for _, p := range s.Missing {
		do := fmt.Sprintf("Install %s%s, or correct the path to it in %s.", p.Path, by, at)
		if p.State == v1alpha1.ProgramNotExecutable {
			do = fmt.Sprintf("Make %s executable.", p.Path)
		}
		steps = append(steps, Step{Phase: Mend, On: s.on(), Do: do, Run: []string{"ls -l " + p.Path}})
	}
	return steps
}

func (f *finding) defaultBroken() []Step {
	cordon := Step{Phase: Hold, Do: fmt.Sprintf("Keep Pods off %s, and don't drain: what runs keeps running, and no Pod without a RuntimeClass can start there.", f.on()),
		Run: []string{"kubectl cordon " + f.first()}, undrained: true}
	steps := []Step{cordon, f.see()}
	if install := f.Site.install(f.at()); len(install) > 0 {
		steps = append(steps, install...)
	} else {
		steps = append(steps, Step{Phase: Mend, On: f.on(), Do: fmt.Sprintf("Mend the default handler, or set default_runtime_name (CRI-O: default_runtime) to one that is loaded, such as runc: %s.", f.Message)})
	}
	return append(steps, f.explain(),
		Step{Phase: Restart, On: f.on(), Do: fmt.Sprintf("Restart %s if a file was changed.", f.runtime()), Run: f.restart()},
		Step{Phase: Again, Do: "Look again: the finding is gone. Then let Pods in.", Run: []string{"kubectl uncordon " + f.first()}})
}

func (f *finding) unreachable() []Step {
	unit := f.unit()
	return []Step{
		{Phase: Look, On: f.first(), Do: "See why the runtime does not answer.", Run: []string{"systemctl status " + unit, "journalctl -u " + unit + " -n 50"}},
		{Phase: Check, On: f.first(), Do: "See what it would load before it is started: it may come up with less.", Run: []string{"runtimegate explain"}},
		{Phase: Restart, On: f.on(), Do: fmt.Sprintf("Start %s.", f.runtime()), Run: f.restart()},
		f.again("the report is without this finding."),
	}
}

func (f *finding) unconfirmed() []Step {
	return []Step{
		{Phase: Look, On: f.first(), Do: "A list of CRI-O after a reload is no proof: take the handler for unknown until CRI-O has been restarted."},
		{Phase: Check, On: f.first(), Do: "See that the files define it.", Run: []string{"runtimegate explain"}},
		f.drain(), f.start(), f.loaded(),
	}
}

func (f *finding) tooMany() []Step {
	return []Step{
		{Phase: Look, On: f.first(), Do: "See which handlers are loaded, and which of them RuntimeClasses name.", Run: []string{"runtimegate crosscheck --cri", "kubectl get runtimeclasses"}},
		{Phase: Mend, On: f.on(), Do: fmt.Sprintf("Take handlers that nobody uses out of the files: a report holds %d.", v1alpha1.MaxHandlers)},
		f.explain(), f.drain(), f.start(), f.again("the report lists handlers."),
	}
}

func (f *finding) storm() []Step {
	return []Step{
		{Phase: Hold, Do: fmt.Sprintf("Don't restart the runtime of %s by hand: each start may lose handlers.", f.on())},
		{Phase: Look, On: f.first(), Do: "See who restarts it: it crashes, or an installer restarts it in a loop.", Run: []string{"journalctl -u " + f.unit() + " -n 100"}},
		{Phase: Mend, On: f.on(), Do: "Mend that; stop an installer whose restarts do not end."},
		f.again("ten minutes later the finding is gone, and all handlers are there."),
	}
}

func (f *finding) nextUnknown() []Step {
	return []Step{
		{Phase: Look, On: f.first(), Do: "What is loaded is known; what a restart brings is not. See for yourself before you restart.", Run: []string{"runtimegate explain"}},
		{Phase: Mend, Do: "Let the reporter see the files that the finding names: reporter.extraHostPaths or reporter.hostRoot of the chart.", Run: []string{"helm upgrade runtimegate charts/runtimegate --reuse-values --set reporter.hostRoot=true"}},
	}
}

func (f *finding) dumpNotProof() []Step {
	return []Step{{Phase: Look, On: f.first(), Do: "A dump does not show all: ask the running runtime.", Run: []string{"runtimegate crosscheck --cri"}}}
}

func (f *finding) rename() []Step {
	return []Step{
		{Phase: Mend, On: f.on(), Do: fmt.Sprintf("Give the handler a name of small letters, digits and dashes in %s, if a RuntimeClass is to name it.", f.at())},
		f.explain(), f.drain(), f.start(), f.again("it is loaded under its new name."),
	}
}

func (f *finding) tooOld() []Step {
	return []Step{
		{Phase: Check, On: f.first(), Do: "Before the runtime is upgraded, see which handlers survive it.", Run: []string{"runtimegate explain --runtime-version OLD,NEW"}},
		f.drain(),
		{Phase: Restart, On: f.on(), Do: "Upgrade the runtime, which restarts it."},
		f.again("the report is without this finding."),
	}
}

// nextStart is the remedy of files with which the node would be lost.
func (f *finding) nextStart() []Step {
	steps := []Step{f.hold("after the next start of the runtime no Pod can start there"), f.mend("Until then the runtime goes on with what it has loaded."), f.explain()}
	if f.Code == config.CodeCRIDisabled && strings.Contains(f.Message, "disabled_plugins") {
		steps[1] = f.mend("The CRI plugin must not be among disabled_plugins.")
	}
	return append(steps, f.again("the finding is gone. If the runtime is down already, start it now."))
}

func (f *finding) generated() []Step {
	return []Step{
		{Phase: Mend, On: f.on(), Do: fmt.Sprintf("Put what was changed in %s into the template beside it, config.toml.tmpl (config-v3.toml.tmpl for containerd 2), that starts with {{ template \"base\" . }}.", f.at())},
		f.explain(),
	}
}

func (f *finding) template() []Step {
	return []Step{
		f.hold("the next start of k3s or RKE2 makes containerd's file of the template alone"),
		f.mend("Begin it with {{ template \"base\" . }}, and leave in it only what is to be added."),
		f.explain(),
	}
}

func (f *finding) defaultChanged() []Step {
	return []Step{{Phase: Look, Do: fmt.Sprintf("Nothing is to be mended. If %q breaks, no Pod without a RuntimeClass can start there: leave the default to runc, and let Pods name a class.", f.Site.Handler)}}
}
