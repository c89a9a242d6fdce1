package remedy

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// broken is the remedy of programs that are not there.
func (f *finding) broken() []Step {
	if strings.Contains(f.Message, "no runtime_type") {
		return []Step{f.mend("Set runtime_type: without one no Pod of the handler can start."), f.explain(), f.drain(), f.start(), f.again(gone, notTold)}
	}
	steps := f.Site.install(f.at())
	if len(steps) == 0 {
		return f.program()
	}
	return append(steps, f.again(gone, ifPending))
}

// programs is the topic of what is to be there for a handler.
func (f *finding) programs() string { return "programs of " + f.Site.Handler }

func (f *finding) program() []Step {
	return []Step{
		joined(Mend, f.on(), joint{nodes: f.on(), topic: f.programs(), rank: 1, between: "; ", end: ".",
			begin: fmt.Sprintf("Install what is missing, make it executable, or correct the path to it in %s: ", f.at()), says: []string{f.Message}}),
		f.again(gone, ifPending),
	}
}

// install are the steps that put programs where they are looked for.
func (s *Site) install(at string) (steps []Step) {
	for _, p := range s.Missing {
		where, run := "correct the path to it", "ls -l "+p.Path
		shim := strings.HasPrefix(path.Base(p.Path), "containerd-shim-")
		if !strings.Contains(p.Path, "/") { // it is looked for in the folders of the daemon's PATH
			run = "command -v " + p.Path
			where = map[bool]string{true: "correct runtime_type", false: "correct the name"}[shim]
		}
		do := fmt.Sprintf("Install %s%s, or %s in %s.", p.Path, s.with(shim), where, at)
		if p.State == v1alpha1.ProgramNotExecutable {
			do = fmt.Sprintf("Make %s executable.", p.Path)
		}
		steps = append(steps, Step{Phase: Mend, On: s.on(), Do: do, Run: []string{run}})
	}
	return steps
}

// with names the installer of a program, if one is known.
func (s *Site) with(shim bool) string {
	i := s.installer()
	if i.name == "" || shim && i.noShim {
		return ""
	}
	return ", with " + i.name
}

// named are the settings that tell of a program, as a finding has them.
var named = regexp.MustCompile(`(runtime_type|runtime_path|BinaryName) "([^"]+)"`)

// unlooked is the step that looks at what a restart would have a handler start, where
// it works now and nobody has looked.
func (f *finding) unlooked() Step {
	_, then, changes := strings.Cut(f.Message, "its files now say ")
	if !f.Unlooked || !changes {
		return Step{}
	}
	var run []string
	for _, setting := range named.FindAllStringSubmatch(then, -1) {
		switch name := setting[2]; {
		case strings.Contains(name, "/"):
			run = append(run, "ls -l "+name)
		case setting[1] == "runtime_type":
			parts := strings.Split(name, ".")
			run = append(run, "command -v containerd-shim-"+strings.Join(parts[max(0, len(parts)-2):], "-"))
		default:
			run = append(run, "command -v "+name)
		}
	}
	return Step{Phase: Check, On: f.on(), Run: run, Do: fmt.Sprintf("See that what the files now name for handler %q is there: nobody looked (reporter.hostRoot), it works now, and a restart breaks it if not.", f.Site.Handler)}
}
