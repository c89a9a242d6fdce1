package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// A ProgramState says whether a program that a handler needs is there.
type ProgramState string

// The states of a program.
const (
	// Found: a file that can be executed.
	Found ProgramState = "Found"
	// NotFound: nothing the runtime would start.
	NotFound ProgramState = "NotFound"
	// NotExecutable: a file, but without an execute bit, or a folder.
	NotExecutable ProgramState = "NotExecutable"
	// Unchecked: the host's programs can't be seen, or nobody knows what
	// the handler would start.
	Unchecked ProgramState = "Unchecked"
)

// A Program is a shim, or the OCI runtime behind one.
type Program struct {
	// Path is where it is; when it was not found, the path or the bare name
	// that was looked for.
	Path  string       `json:"path"`
	State ProgramState `json:"state"`
	// Reason says in words why it is not Found.
	Reason string `json:"reason,omitempty"`
	// Near are programs of the host that may have been meant.
	Near []string `json:"near,omitempty"`
}

// Runnability is what a handler needs to start a sandbox. Shim is nil when the
// runtime starts the OCI runtime without one, Binary when the shim calls none
// that the configuration could name.
type Runnability struct {
	Shim   *Program `json:"shim,omitempty"`
	Binary *Program `json:"binary,omitempty"`
}

// A Prober looks for the programs behind handlers as the runtime does. It is
// for one look at a host: what it has seen of a folder it does not read again.
// It is not for several goroutines at once.
type Prober struct {
	host    *hostfs.FS
	runtime Runtime
	workDir string
	path    []string
	beside  string
	// bin is the folder of a distribution's own programs, "" for none.
	bin string
	// blind is set when the host shows no program at all: a copy of its
	// configuration, and nothing that proves anything absent.
	blind bool
	// listed are the names in the folders read so far.
	listed map[string][]string
}

// DefaultSearchPath is the PATH that systemd gives a service.
const DefaultSearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// NewProber makes a Prober from the daemon's WorkDir, SearchPath and Binary.
func NewProber(host *hostfs.FS, opt Options) *Prober {
	if opt.NoPrograms {
		host = hostfs.New(noFiles{})
	}
	p := &Prober{host: host, runtime: opt.Runtime, workDir: opt.workDir(), beside: "/usr/bin", bin: binOf(opt.Path), listed: map[string][]string{}}
	switch {
	case opt.Binary != "":
		p.beside = path.Dir(opt.Binary)
	case p.bin != "":
		p.beside = p.bin
	}
	search := opt.SearchPath
	if search == "" {
		search = DefaultSearchPath
	}
	for dir := range strings.SplitSeq(search, ":") {
		// An empty element of PATH is the working folder.
		p.path = append(p.path, p.absolute(dir))
	}
	if p.bin != "" && !slices.Contains(p.path, p.bin) {
		p.path = append([]string{p.bin}, p.path...)
	}
	p.blind = !p.anyProgram()
	return p
}

func (l *loader) prober() *Prober {
	if l.looks == nil {
		l.looks = NewProber(l.fs, l.opt)
	}
	return l.looks
}

// program is the one that a handler of CRI-O starts.
func (r Runnability) program() *Program {
	if r.Shim != nil {
		return r.Shim
	}
	return r.Binary
}

// noFiles is a host with nothing on it.
type noFiles struct{}

func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Blind tells whether the host shows no program at all, so that nothing can be
// said of one that is missing.
func (p *Prober) Blind() bool { return p.blind }

func (p *Prober) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(p.workDir, name)
}

func (p *Prober) anyProgram() bool {
	for _, dir := range append([]string{p.beside}, p.path...) {
		for _, name := range p.entries(dir) {
			if p.host.Executable(path.Join(dir, name)) == nil {
				return true
			}
		}
	}
	return false
}

// Probe says what the handler needs and whether it is there.
func (p *Prober) Probe(h Handler) Runnability {
	var r Runnability
	if p.runtime.Name == CRIO {
		r = p.probeCRIO(h)
	} else {
		r = Runnability{Shim: p.shim(h), Binary: p.binary(h)}
	}
	if p.blind {
		for _, program := range []*Program{r.Shim, r.Binary} {
			if program != nil && program.State == NotFound {
				program.State, program.Reason = Unchecked, ""
			}
		}
	}
	return r
}

// linuxV1Shim belongs to a runtime of its own kind, whose plugin and not whose
// handler says what it starts.
const linuxV1Shim = "containerd-shim"

// shim finds what containerd's shim manager would start.
func (p *Prober) shim(h Handler) *Program {
	name, key := h.RuntimePath, "runtime_path"
	if name == "" {
		name, key = h.RuntimeType, "runtime_type"
	}
	switch {
	case h.RuntimeType == "":
		// Whatever runtime_path says: the sandbox is refused before.
		return &Program{Path: h.RuntimePath, State: Unchecked, Reason: "runtime_type is empty"}
	case name == linuxV1:
		return &Program{Path: linuxV1Shim, State: Unchecked}
	case path.IsAbs(name):
		return p.at(name)
	case strings.Contains(name, "/"):
		return &Program{Path: name, State: NotFound, Reason: key + " is neither an absolute path nor a name like io.containerd.runc.v2"}
	}
	parts := strings.Split(name, ".")
	if len(parts) < 2 || parts[0] == "" {
		return &Program{Path: name, State: NotFound, Reason: key + " is not a name like io.containerd.runc.v2"}
	}
	return p.shimNamed("containerd-shim-" + strings.Join(parts[len(parts)-2:], "-"))
}

// shimNamed looks in the working folder and beside containerd, where any file
// counts, and between the two in PATH, where only a program does.
func (p *Prober) shimNamed(name string) *Program {
	if here := path.Join(p.workDir, name); p.host.Exists(here) {
		return p.at(here)
	}
	found := p.lookPath(name)
	if found.State == Found {
		return found
	}
	if beside := path.Join(p.beside, name); p.host.Exists(beside) {
		return p.at(beside)
	}
	if found.State == NotFound {
		found.Reason = fmt.Sprintf("it is neither in the working folder %s, nor in PATH (%s), nor beside containerd in %s",
			p.workDir, strings.Join(p.path, ":"), p.beside)
	}
	return found
}

// isRuncShim tells whether options.BinaryName means anything to a handler.
func isRuncShim(h Handler) bool {
	return h.RuntimeType == runcV2 || h.RuntimeType == runcV1
}

var runcShim = regexp.MustCompile(`^containerd-shim-runc-v[0-9]+$`)

// binary finds what the runc shim would call.
func (p *Prober) binary(h Handler) *Program {
	if !isRuncShim(h) || h.RuntimePath != "" && !runcShim.MatchString(path.Base(h.RuntimePath)) {
		return nil
	}
	name := h.BinaryName
	if name == "" {
		name = "runc"
	}
	switch {
	case path.IsAbs(name):
		return p.at(name)
	case strings.Contains(name, "/"):
		return &Program{Path: name, State: NotFound, Reason: "BinaryName is a relative path, which the shim looks for in the container's own folder"}
	}
	return p.lookPath(name)
}

var vmShim = regexp.MustCompile(`^containerd-shim-[a-zA-Z0-9+-]+$`)

// probeCRIO finds what CRI-O would start: the OCI runtime itself, or the shim
// of a vm handler.
func (p *Prober) probeCRIO(h Handler) Runnability {
	var program *Program
	if h.RuntimePath == "" {
		program = p.lookPath(h.Name)
	} else {
		program = p.at(p.absolute(h.RuntimePath))
	}
	if h.RuntimeType != "vm" {
		return Runnability{Binary: program}
	}
	if program.State != NotFound && !vmShim.MatchString(path.Base(program.Path)) {
		program.State, program.Reason = NotFound, "CRI-O drops a vm handler whose program is not named containerd-shim-*"
	}
	return Runnability{Shim: program}
}

// at says what stands at a path.
func (p *Prober) at(name string) *Program {
	program := &Program{Path: name, State: Found}
	switch err := p.host.Executable(name); {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), isNotDir(err):
		program.State, program.Reason = NotFound, "no such file"
		program.Near = p.near(name)
	case errors.Is(err, fs.ErrPermission):
		program.State, program.Reason = NotExecutable, "the file has no execute permission"
	default:
		program.State, program.Reason = NotExecutable, bareCause(err)
	}
	return program
}

// bundled tells whether a distribution brings a program itself, in a folder
// that this tree does not have whole.
func (p *Prober) bundled(name string) bool {
	return p.bin != "" && (name == "runc" || name == "containerd-shim-runc-v2") && !p.host.Exists(path.Join(p.bin, "runc"))
}

// lookPath looks for a name in PATH as exec.LookPath does, which passes over
// files that can't be executed. Such a one is named when there is no other.
func (p *Prober) lookPath(name string) *Program {
	var passed *Program
	for _, dir := range p.path {
		program := p.at(path.Join(dir, name))
		if program.State == Found {
			return program
		}
		if program.State == NotExecutable && passed == nil {
			passed = program
		}
	}
	switch {
	case passed != nil:
		return passed
	case p.bundled(name):
		return &Program{Path: name, State: Unchecked}
	}
	return &Program{
		Path: name, State: NotFound, Near: p.near(name),
		Reason: fmt.Sprintf("it is not in PATH (%s)", strings.Join(p.path, ":")),
	}
}
