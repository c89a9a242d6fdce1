package remedy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

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
	case f.File == "" && f.Finding.Handler != "":
		return fmt.Sprintf("the file that defines handler %q", f.Finding.Handler)
	case f.File == "":
		return "the configuration of " + f.runtime()
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
	site.Down = site.Down || found.Code == v1alpha1.FindingRuntimeUnreachable
	f := &finding{&site, found}
	if steps, ok := byCode[found.Code]; ok {
		return f.lasting(steps(f))
	}
	return []Step{f.mend("Do what the finding says."), f.explain(), f.again(gone, notTold)}
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

	config.CodeNotImported:          (*finding).notImported,
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
	config.CodeUnknownKey:           rewrite("Correct the key, or take it out: the runtime ignores it."),
	config.CodeOptionWrongType:      rewrite("Give the option a value of the kind that the finding names."),
	config.CodeRuntimeTypeEmpty:     rewrite("Set runtime_type."),
	config.CodeBinaryNameIgnored:    rewrite("Give the shim its own options, or use the runc shim: another takes no notice of BinaryName."),
}

// mend is the step that mends what the finding names.
func (f *finding) mend(what string) Step {
	return joined(Mend, f.on(), joint{nodes: f.on(), topic: f.at(), about: f.Finding.Handler, rank: 1, begin: fmt.Sprintf("Mend %s. ", f.at()), between: " ", says: []string{what}})
}

// mendIfNothingElse is mend where another finding about the same place or handler
// may know more of it.
func (f *finding) mendIfNothingElse(what string) Step {
	step := f.mend(what)
	step.joint.rank = 0
	return step
}

// rewrite is the remedy of a file that keeps a handler from the runtime, or says of one
// what it should not. What is loaded may be the same.
func rewrite(what string) func(*finding) []Step {
	return func(f *finding) []Step {
		steps := []Step{f.mend(f.exactly(what)), f.explain()}
		switch {
		case f.Down:
			return append(steps, f.start(), f.again(gone, notTold))
		case f.Finding.Handler == "" || f.Loaded:
			return append(steps, f.again(gone, ifPending))
		}
		return append(steps, f.drain(), f.start(), f.loaded())
	}
}

// exactly adds to what is to be done the table that the finding says to write.
func (f *finding) exactly(what string) string {
	_, table, ok := strings.Cut(f.Message, "write [")
	if !ok {
		return what
	}
	table, _, _ = strings.Cut(table, "; ")
	return strings.TrimSuffix(what, ".") + ": write [" + table + "."
}

// notImported is the remedy of a file that nothing reads. CRI-O has no imports.
func (f *finding) notImported() []Step {
	if f.Runtime.Name == config.CRIO {
		return rewrite("Move the file to where the runtime reads it.")(f)
	}
	if m := emptyPattern.FindStringSubmatch(f.Message); m != nil {
		return rewrite(fmt.Sprintf("Nothing reads this file: correct the pattern %s at %s, or move the file to where it matches.", m[1], m[2]))(f)
	}
	return rewrite("Move the file to where the runtime reads it, or extend imports in the main file.")(f)
}

// emptyPattern is how a finding names the import that does not match a file.
var emptyPattern = regexp.MustCompile(`the pattern ("(?:[^"\\]|\\.)*") of (\S+:\d+)`)

// lasting adds to the steps of a finding where to change the file that they name, if it
// is written anew at every start.
func (f *finding) lasting(steps []Step) []Step {
	names := func(s Step) bool { return s.Phase == Mend && strings.Contains(s.Do, f.at()) }
	if f.Code == config.CodeGeneratedFile || !config.IsGenerated(f.File) || !slices.ContainsFunc(steps, names) {
		return steps
	}
	return append(steps, Step{Phase: Mend, On: f.on(), Do: fmt.Sprintf(
		"What is to be changed in %s, change in the template beside it, config.toml.tmpl (config-v3.toml.tmpl for containerd 2), that starts with {{ template \"base\" . }}: k3s and RKE2 write the file anew at every start.", f.File)})
}

// hold is the step that keeps the runtime running as it is.
func (f *finding) hold(why string) Step {
	j := joint{nodes: f.on(), topic: "hold", begin: fmt.Sprintf("Restart nothing on %s until this is mended, and hold back node upgrades and reboots: ", f.on()), between: "; ", says: []string{why}, end: "."}
	if f.Down {
		j.begin = fmt.Sprintf("Don't start %s on %s anew, nor reboot it, until this is mended: ", f.runtime(), f.on())
	}
	return joined(Hold, "", j)
}

// lost is the remedy of a handler that went with a restart. Never restart first: a
// runtime that starts without the file counts as one that never had it.
func (f *finding) lost() []Step {
	steps := []Step{f.see()}
	if f.File == "" {
		steps = append(steps, f.bring())
	} else {
		steps = append(steps, f.mendIfNothingElse("There the handler is taken away, or was."), f.keep())
	}
	return append(steps, f.next(), f.explain(), f.drain(), f.start(), f.loaded())
}

func (f *finding) expiring() []Step {
	hold := f.hold(fmt.Sprintf("the next start takes handler %q away", f.Site.Handler))
	_, breaks, broken := strings.Cut(f.Message, "none of its Pods can start: ")
	switch {
	case broken:
		hold = f.hold(fmt.Sprintf("after the next start no Pod of handler %q can start", f.Site.Handler))
		why, _, _ := strings.Cut(breaks, "; ")
		mend := f.mendIfNothingElse("After the next start: " + why + ".")
		mend.joint.also = f.programs() // a finding about these says the same
		return []Step{hold, mend, f.explain(), f.again(gone, ifPending)}
	case f.File == "":
		return []Step{hold, f.bring(), f.next(), f.explain(), f.again(gone, ifPending)}
	}
	return []Step{hold, f.mendIfNothingElse("That is what takes the handler away."), f.next(), f.explain(), f.again(gone, ifPending)}
}

func (f *finding) pending() []Step {
	return []Step{f.see(), f.keep(), f.next(), f.unlooked(), f.drain(), f.start(), f.loaded()}
}

func (f *finding) defaultBroken() []Step {
	steps := []Step{f.cordon(), f.see()}
	if install := f.Site.install(f.at()); len(install) > 0 {
		steps = append(steps, install...)
	} else {
		another := "one that is loaded, such as runc"
		if f.Finding.Handler == "runc" {
			another = "another that is loaded"
		}
		steps = append(steps, Step{Phase: Mend, On: f.on(), Do: fmt.Sprintf("Mend the default handler, or set default_runtime_name (CRI-O: default_runtime) to %s: %s.", another, f.Message)})
	}
	return append(steps, f.explain(),
		joined(Restart, f.on(), joint{nodes: f.on(), topic: "restart", begin: fmt.Sprintf("Restart %s if a file was changed.", f.runtime())}, f.restart()...),
		f.again(gone, notTold), f.uncordon())
}

// unreachable is the remedy of a runtime that does not answer: it may be down
// because of what other findings name, so that it is started last.
func (f *finding) unreachable() []Step {
	return []Step{f.down(), f.explain(), f.start(), f.again("RuntimeUnreachable is no finding any more", notTold)}
}

// down is the step that sees why a runtime does not answer.
func (s *Site) down() Step {
	unit := s.unit()
	text := fmt.Sprintf("See why %s does not answer", s.runtime())
	if !s.Answered.IsZero() {
		text = fmt.Sprintf("See why %s has not answered since %s", s.runtime(), s.Answered.UTC().Format(time.RFC3339))
	}
	if s.NotReady != "" {
		text += "; the node is " + s.NotReady
	}
	return joined(Down, s.on(), joint{nodes: s.on(), topic: "down", begin: text + "."},
		"systemctl status "+unit, "journalctl -u "+unit+" -n 50")
}

func (f *finding) unconfirmed() []Step {
	return []Step{
		{Phase: Look, On: f.first(), Do: "A list of CRI-O after a reload is no proof: take the handler for unknown until CRI-O has been restarted."},
		f.explain(), f.drain(), f.start(), f.loaded(),
	}
}

func (f *finding) tooMany() []Step {
	return []Step{
		{Phase: Look, On: f.first(), Do: "See which handlers are loaded, and which of them RuntimeClasses name.", Run: []string{"runtimegate crosscheck --cri", "kubectl get runtimeclasses"}},
		{Phase: Mend, On: f.on(), Do: fmt.Sprintf("Take handlers that nobody uses out of the files: a report holds %d.", v1alpha1.MaxHandlers)},
		f.explain(), f.drain(), f.start(), f.again("the report lists handlers", notTold),
	}
}

// storm is the remedy of a runtime that something restarts again and again. What is
// wrong beside it is mended first: it may be what makes it end, and the finding
// stays for a while when all is well again.
func (f *finding) storm() []Step {
	return []Step{
		{Phase: Watch, On: f.first(), Do: fmt.Sprintf("See who restarts %s: it crashes, or an installer restarts it in a loop, which is to be stopped. If the last start was minutes ago, it is over.", f.runtime()),
			Run: []string{"journalctl -u " + f.unit() + " -n 100"}},
		f.again("10 minutes after the last start RestartStorm is no finding any more", notTold),
	}
}

func (f *finding) nextUnknown() []Step {
	return []Step{
		{Phase: Look, On: f.first(), Do: "What a restart brings is not known. See for yourself before you restart.", Run: []string{"runtimegate explain"}},
		{Phase: Mend, Do: "Let the reporter see the files that the finding names: reporter.extraHostPaths or reporter.hostRoot of the chart.", Run: []string{"helm upgrade runtimegate charts/runtimegate --reuse-values --set reporter.hostRoot=true"}},
		f.again(gone, notTold),
	}
}

func (f *finding) dumpNotProof() []Step {
	return []Step{
		{Phase: Look, On: f.first(), Do: "A dump does not show all: ask the running runtime.", Run: []string{"runtimegate crosscheck --cri"}},
		{Phase: Mend, On: f.first(), Do: "Report what the running runtime has in place of a dump.", Run: []string{"runtimegate report --once --node " + f.first()}},
		f.again(gone, notTold),
	}
}

func (f *finding) rename() []Step {
	return []Step{
		f.mend("Give the handler a name of small letters, digits and dashes, if a RuntimeClass is to name it."),
		f.explain(), f.drain(), f.start(), f.again("it is loaded under its new name", notTold),
	}
}

func (f *finding) tooOld() []Step {
	return []Step{
		{Phase: Check, On: f.first(), Do: "Before the runtime is upgraded, see which handlers survive it.", Run: []string{"runtimegate explain --runtime-version OLD,NEW"}},
		f.drain(),
		joined(Restart, f.on(), joint{nodes: f.on(), topic: "restart", rank: 3, begin: "Upgrade the runtime, which restarts it."}),
		f.again(gone, notTold),
	}
}

// nextStart is the remedy of files with which the node would be lost, or is: then
// the runtime is started with what was mended.
func (f *finding) nextStart() []Step {
	mend := f.mendIfNothingElse("Until then the runtime goes on with what it has loaded.")
	switch {
	case f.Code == config.CodeCRIDisabled && f.File == "" && f.Down:
		mend = joined(Mend, f.on(), joint{nodes: f.on(), topic: "cri", begin: fmt.Sprintf("Mend what keeps the CRI plugin of %s from coming up: another finding, \"runtimegate explain\" or its log names it.", f.runtime())},
			"journalctl -u "+f.unit()+" | grep -i cri | tail -n 20")
	case f.Code == config.CodeCRIDisabled && f.File != "" && strings.Contains(f.Message, "disabled_plugins"):
		mend = f.mend("The CRI plugin must not be among disabled_plugins.")
	case f.Down:
		mend = f.mendIfNothingElse("With it the runtime does not come up, or serves no Pods.")
	}
	steps := []Step{f.hold("after the next start of the runtime no Pod can start there"), mend, f.explain()}
	if f.Down {
		return append(steps, f.start(), f.again(gone, notTold))
	}
	return append(steps, f.again(gone, ifPending))
}

func (f *finding) generated() []Step {
	return []Step{
		{Phase: Mend, On: f.on(), Do: fmt.Sprintf("Put what was changed in %s into the template beside it, config.toml.tmpl (config-v3.toml.tmpl for containerd 2), that starts with {{ template \"base\" . }}.", f.at())},
		f.explain(), f.again(gone, notTold),
	}
}

func (f *finding) template() []Step {
	return []Step{
		f.hold("the next start of k3s or RKE2 makes containerd's file of the template alone"),
		f.mend("Begin it with {{ template \"base\" . }}, and leave in it only what is to be added."),
		f.explain(), f.again(gone, notTold),
	}
}

func (f *finding) defaultChanged() []Step {
	return []Step{{Phase: Look, Do: fmt.Sprintf("Nothing is to be mended. If %q breaks, no Pod without a RuntimeClass can start there: leave the default to runc, and let Pods name a class.", f.Site.Handler)}}
}
