package config

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// DefaultSearchPath is the PATH of a service of systemd.
const DefaultSearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A ProgramState says whether a program that a handler needs is there.
type ProgramState string

// The states of a program.
const (
	Found         ProgramState = "Found"
	NotFound      ProgramState = "NotFound"
	NotExecutable ProgramState = "NotExecutable"
	// Unchecked: the host's programs are not in the tree that was looked at,
	// or nothing says which program it is.
	Unchecked ProgramState = "Unchecked"
)

// A Program is the shim of a handler, or the OCI runtime behind it.
type Program struct {
	// Path is where it is, or the name that was looked for.
	Path  string       `json:"path"`
	State ProgramState `json:"state"`
	// NearMiss is a program of nearly that name beside it.
	NearMiss string `json:"nearMiss,omitempty"`
}

func (l *loader) searchPath() []string {
	list := l.opt.SearchPath
	if list == "" {
		list = DefaultSearchPath
	}
	dirs := strings.Split(list, ":")
	if bin := binOf(l.opt.Path); bin != "" && !slices.Contains(dirs, bin) {
		dirs = append([]string{bin}, dirs...)
	}
	return dirs
}

// bundled tells whether a distribution brings a program itself, in a folder
// that this tree does not have whole.
func (l *loader) bundled(name string) bool {
	bin := binOf(l.opt.Path)
	return bin != "" && (name == "runc" || name == "containerd-shim-runc-v2") && !l.fs.Exists(path.Join(bin, "runc"))
}

// hasPrograms tells whether the tree has the host's programs at all: a tree of
// configuration files only says nothing of them.
func (l *loader) hasPrograms() bool {
	if l.programsThere == nil {
		l.programsThere = ptr(slices.ContainsFunc(l.searchPath(), func(dir string) bool {
			entries, err := l.fs.ReadDir(dir)
			return err == nil && len(entries) > 0
		}))
	}
	return *l.programsThere
}

// shim is the program that containerd starts for a handler. containerd looks
// at runtime_path, then at an absolute runtime_type, then for the shim's name
// in its working folder, its PATH, and beside its own program.
func (l *loader) shim(h Handler) Program {
	name := h.RuntimePath
	if name == "" && strings.HasPrefix(h.RuntimeType, "/") {
		name = h.RuntimeType
	}
	switch {
	case name == "" && h.RuntimeType == "":
		return Program{State: Unchecked}
	case !l.hasPrograms():
		if name == "" {
			name = shimName(h.RuntimeType)
		}
		return Program{Path: name, State: Unchecked}
	case name != "":
		return l.at(name)
	case strings.Contains(h.RuntimeType, "/"):
		return Program{Path: h.RuntimeType, State: NotFound}
	}
	name = shimName(h.RuntimeType)
	if name == "" {
		return Program{Path: h.RuntimeType, State: NotFound}
	}
	binary := l.opt.Binary
	if binary == "" {
		binary = "/usr/bin/containerd"
	}
	dirs := append(append([]string{l.opt.workDir()}, l.searchPath()...), path.Dir(binary))
	return l.lookup(name, dirs)
}

// shimName is the name that a runtime type stands for: its last two elements.
func shimName(runtimeType string) string {
	elems := strings.Split(runtimeType, ".")
	if len(elems) < 2 {
		return ""
	}
	n := len(elems)
	return "containerd-shim-" + elems[n-2] + "-" + elems[n-1]
}

// ociRuntime is what the runc shim calls: BinaryName, or runc. Other shims
// take no notice of BinaryName.
func (l *loader) ociRuntime(h Handler) (Program, bool) {
	if !isRuncShim(h) {
		return Program{}, false
	}
	name := h.BinaryName
	if name == "" {
		name = "runc"
	}
	switch {
	case !l.hasPrograms():
		return Program{Path: name, State: Unchecked}, true
	case strings.HasPrefix(name, "/"):
		return l.at(name), true
	}
	return l.lookup(name, l.searchPath()), true
}

// isRuncShim tells whether options.BinaryName means anything to a handler.
func isRuncShim(h Handler) bool {
	return h.RuntimeType == runcV2 || h.RuntimeType == "io.containerd.runc.v1"
}

// program is what CRI-O needs of a handler: the OCI runtime or the shim.
func (l *loader) program(h Handler) Program {
	name := h.RuntimePath
	switch {
	case !l.hasPrograms():
		if name == "" {
			name = h.Name
		}
		return Program{Path: name, State: Unchecked}
	case name != "":
		return l.at(name)
	}
	return l.lookup(h.Name, l.searchPath())
}

// at looks at one path.
func (l *loader) at(name string) Program {
	p := Program{Path: name, State: state(l.fs.Executable(l.absolute(name)))}
	if p.State == NotFound {
		p.NearMiss = l.nearMiss(path.Base(name), []string{path.Dir(name)})
	}
	return p
}

func state(err error) ProgramState {
	switch {
	case err == nil:
		return Found
	case errors.Is(err, fs.ErrPermission):
		return NotExecutable
	}
	return NotFound
}

// lookup finds a program in folders, as exec.LookPath does: one that can't be
// executed is passed over.
func (l *loader) lookup(name string, dirs []string) Program {
	found := Program{Path: name, State: NotFound}
	for _, dir := range dirs {
		at := path.Join(dir, name)
		switch s := state(l.fs.Executable(at)); {
		case s == Found:
			return Program{Path: at, State: Found}
		case s == NotExecutable && found.State == NotFound:
			found = Program{Path: at, State: NotExecutable}
		}
	}
	switch {
	case found.State != NotFound:
	case l.bundled(name):
		found.State = Unchecked
	default:
		found.NearMiss = l.nearMiss(name, dirs)
	}
	return found
}

// nearMiss finds a program that was probably meant: the same shim in another
// version first.
func (l *loader) nearMiss(name string, dirs []string) string {
	stem := name
	if i := strings.LastIndex(name, "-v"); i > 0 {
		stem = name[:i]
	}
	var names []string
	where := map[string]string{}
	for _, dir := range dirs {
		entries, err := l.fs.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			n := e.Name()
			if strings.HasPrefix(n, stem) && n != name && strings.HasPrefix(name, "containerd-shim-") {
				return path.Join(dir, n)
			}
			if _, ok := where[n]; !ok {
				where[n] = path.Join(dir, n)
				names = append(names, n)
			}
		}
	}
	return where[Nearest(name, names)]
}
