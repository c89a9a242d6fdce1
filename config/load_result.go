package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// A Result is what a runtime would make of its files.
type Result struct {
	Runtime Runtime
	// Notes say how far the answer is to be trusted.
	Notes  []string
	Dump   DumpAnswer
	Daemon DaemonAnswer
	// Files are the files read, in load order.
	Files []*File
	// Handlers are all handlers that any file defines and those that are built
	// in, sorted by name.
	Handlers []HandlerReport
	// Findings are sorted, the most severe first.
	Findings []Finding

	// settings are what the CRI plugins have that is not as by default, by path; usual
	// are the defaults, own all that files say. Only an upgrade asks for them.
	settings, usual, own map[string]any
}

// Load answers what the runtime would load from the files of a host. An error
// means that Load can't tell: a path that is not absolute, or a tree that it
// refuses to read (hostfs.ErrRefused). What the runtime itself would refuse is
// an answer and not an error.
func Load(host *hostfs.FS, opt Options) (*Result, error) {
	r, _, err := load(host, opt)
	return r, err
}

// load is Load; the loader has more to say of what was loaded.
func load(host *hostfs.FS, opt Options) (*Result, *loader, error) {
	if !path.IsAbs(opt.Path) {
		return nil, nil, fmt.Errorf("config file %q: want an absolute path", opt.Path)
	}
	r := &Result{Runtime: opt.Runtime}
	if note := opt.Runtime.note(); note != "" {
		r.Notes = append(r.Notes, note)
	}
	l := &loader{fs: host, opt: opt, rt: opt.Runtime}
	if err := l.answer(r); err != nil {
		return nil, nil, err
	}
	passed := l.passedOver()
	for _, f := range append(slices.Clone(l.files), passed...) {
		f.TouchesCRI = f.touchesCRI(l.rt)
	}
	r.Files = l.files
	r.Handlers = l.fates(r, passed)
	r.Findings = l.findings(r, passed)
	return r, l, nil
}

// answer fills in what dump and daemon say.
func (l *loader) answer(r *Result) (err error) {
	if l.rt.Name == CRIO {
		r.Dump, r.Daemon, err = l.crioAnswer()
		return err
	}
	main := true
	if l.opt.PathOptional {
		if _, _, err := l.fs.Resolve(l.opt.Path); errors.Is(err, fs.ErrNotExist) {
			main = false
			r.Notes = append(r.Notes, fmt.Sprintf("%s does not exist: containerd starts with its defaults, unless it is told that path by --config", l.opt.Path))
		}
	}
	if l.rt.class() == classA {
		out := defaults1()
		if main {
			out, err = l.load1()
		}
		if refused(err) {
			return err
		}
		r.Dump, r.Daemon = l.answer1(out, err)
		l.merged1 = out
		return nil
	}
	out := defaults2(l.rt)
	if main {
		out, err = l.load2()
	}
	if refused(err) {
		return err
	}
	r.Dump, r.Daemon, l.plugins2 = l.answer2(out, err)
	l.merged2 = out
	return nil
}

func refused(err error) bool { return errors.Is(err, hostfs.ErrRefused) }
