package main

import (
	"path"
	"slices"

	"github.com/runtimegate/runtimegate/config"
)

// An explanation is what explain says of one version of the runtime: the
// contract of -o json and -o yaml.
type explanation struct {
	Runtime  runtimeView         `json:"runtime"`
	Config   configView          `json:"config"`
	Notes    []string            `json:"notes"`
	Without  []string            `json:"without,omitempty"`
	Dump     dumpView            `json:"dump"`
	Daemon   daemonView          `json:"daemon"`
	Imports  []*config.File      `json:"imports"`
	Handlers []*explainedHandler `json:"handlers"`
	Findings []config.Finding    `json:"findings"`
	Bisect   []bisectRow         `json:"bisect,omitempty"`
	Changes  *changes            `json:"changes,omitempty"`
}

type runtimeView struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// A configView says which configuration was taken.
type configView struct {
	Path         string   `json:"path"`
	Installation string   `json:"installation,omitempty"`
	Taken        string   `json:"taken"`
	NotTaken     []string `json:"notTaken,omitempty"`
}

// A dumpView is what the runtime's own dump would answer.
type dumpView struct {
	Exit           int      `json:"exit"`
	Handlers       []string `json:"handlers"`
	DefaultHandler string   `json:"defaultHandler"`
	Error          string   `json:"error"`
	CDI            *bool    `json:"cdi,omitempty"`
	// Unreadable is set when the real dump is not valid TOML.
	Unreadable bool `json:"unreadable,omitempty"`
}

// A daemonView is what the started daemon would have.
type daemonView struct {
	State          string   `json:"state"`
	Handlers       []string `json:"handlers"`
	DefaultHandler string   `json:"defaultHandler"`
	Reason         string   `json:"reason"`
}

// An explainedHandler is a handler of any file, loaded or not.
type explainedHandler struct {
	Name    string          `json:"name"`
	Fate    string          `json:"fate"`
	Reason  string          `json:"reason,omitempty"`
	Origins []config.Origin `json:"origins"`
	Default bool            `json:"default"`
	// BlastRadius says which Pods stop when it breaks: Node (all without a
	// RuntimeClass), Class (those that ask for it), None (it is not loaded).
	BlastRadius string `json:"blastRadius"`
	RuntimeType string `json:"runtimeType,omitempty"`
	RuntimePath string `json:"runtimePath,omitempty"`
	BinaryName  string `json:"binaryName,omitempty"`
	config.Runnability
}

func newExplanation(t *target, r *config.Result) *explanation {
	v := &explanation{
		Runtime: runtimeView{r.Runtime.Name, r.Runtime.Version},
		Config:  configView{Path: t.Path, Installation: t.Who, Taken: t.sentence(), NotTaken: t.others},
		Notes:   append([]string{}, r.Notes...),
		Dump: dumpView{
			Exit: r.Dump.Exit, Handlers: names(&r.Dump.CRI), DefaultHandler: r.Dump.CRI.DefaultHandler,
			Error: r.Dump.Error, CDI: r.Dump.CRI.CDI, Unreadable: r.Dump.Unreadable,
		},
		Daemon:  daemonView{string(r.Daemon.State), names(&r.Daemon.CRI), r.Daemon.CRI.DefaultHandler, r.Daemon.Reason},
		Imports: importsOf(r),
	}
	v.Handlers = handlersOf(r)
	v.Findings = append([]config.Finding{}, r.Findings...)
	def := loadedCRI(r).DefaultHandler
	for _, h := range v.Handlers {
		h.Default = h.Name == def
		switch {
		case !slices.Contains(v.Daemon.Handlers, h.Name):
			h.BlastRadius = "None"
		case h.Default:
			h.BlastRadius = "Node"
		default:
			h.BlastRadius = "Class"
		}
	}
	return v
}

// finish makes sure that a node which serves no Pod is not called well.
func (v *explanation) finish() {
	if v.Daemon.State != string(config.Running) && !v.needsMending() {
		// Whatever the reason: a node that can start no Pod is not all well.
		f := config.Finding{Code: "CRIDisabled", Severity: config.Error, File: v.Config.Path, Message: "no Pod of this node can start: " + v.Daemon.Reason}
		v.Findings = append([]config.Finding{f}, v.Findings...)
	}
}

// needsMending tells whether there is a finding above Info.
func (v *explanation) needsMending() bool {
	return slices.ContainsFunc(v.Findings, func(f config.Finding) bool { return f.Severity != config.Info })
}

// loadedCRI is what the daemon has or, when it does not serve the CRI, what the
// files would give.
func loadedCRI(r *config.Result) *config.CRI {
	if r.Daemon.State == config.Running {
		return &r.Daemon.CRI
	}
	return &r.Dump.CRI
}

// names are the names of a CRI's handlers, sorted, never nil.
func names(c *config.CRI) []string { return append([]string{}, c.Names()...) }

func matchesWithout(without []string, file string) bool {
	return slices.ContainsFunc(without, func(w string) bool { return w == file || w == path.Base(file) })
}
