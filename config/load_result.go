package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

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
}

// Load answers what the runtime would load from the files of a host. An error
// means that Load can't tell: a path that is not absolute, or a tree that it
// refuses to read (hostfs.ErrRefused). What the runtime itself would refuse is
// an answer and not an error.
func Load(host *hostfs.FS, opt Options) (*Result, error) {
	if !path.IsAbs(opt.Path) {
		return nil, fmt.Errorf("config file %q: want an absolute path", opt.Path)
	}
	r := &Result{Runtime: opt.Runtime}
	if note := opt.Runtime.note(); note != "" {
		r.Notes = append(r.Notes, note)
	}
	l := &loader{fs: host, opt: opt, rt: opt.Runtime}
	if opt.PathOptional && opt.Runtime.Name == Containerd {
		if _, _, err := host.Resolve(opt.Path); errors.Is(err, fs.ErrNotExist) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s does not exist: containerd starts with its defaults, unless it is told that path by --config", opt.Path))
			l.opt.Path = ""
		}
	}
	var err error
	if opt.Runtime.class() == classA {
		out := defaults1()
		if l.opt.Path != "" {
			out, err = l.load1()
		}
		if refused(err) {
			return nil, err
		}
		r.Dump, r.Daemon = l.answer1(out, err)
	} else {
		out := defaults2(opt.Runtime)
		if l.opt.Path != "" {
			out, err = l.load2()
		}
		if refused(err) {
			return nil, err
		}
		r.Dump, r.Daemon, _ = l.answer2(out, err)
	}
	r.Files = l.files
	return r, nil
}

func refused(err error) bool { return errors.Is(err, hostfs.ErrRefused) }
