package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/runtimegate/runtimegate/config/hostfs"
	"github.com/runtimegate/runtimegate/config/schema"
)

// DefaultConfigPath is where containerd looks when nothing tells it otherwise.
const DefaultConfigPath = "/etc/containerd/config.toml"

// Options say what Load loads.
type Options struct {
	// Runtime is the runtime whose rules apply.
	Runtime Runtime
	// Path is the main file, an absolute path of the host.
	Path string
	// PathOptional is set when the runtime is started without being told the
	// path: containerd then starts with its defaults when the file is missing.
	PathOptional bool
	// DropInDir is the folder of CRI-O's drop-ins; empty for Path + ".d".
	DropInDir string
	// WorkDir is the runtime's working folder, "/" when empty.
	WorkDir string
	// SearchPath is the runtime's PATH; empty for DefaultSearchPath.
	SearchPath string
	// Binary is the runtime's own executable, beside which containerd looks
	// for shims last; empty for /usr/bin/containerd.
	Binary string
	// NoPrograms leaves all programs unchecked: the host is not the one that
	// the configuration is for.
	NoPrograms bool
	// Without are paths of drop-ins that are to be taken as absent.
	Without []string
	// WithoutDropIns takes away all files but the main one and those in Keep.
	WithoutDropIns bool
	// Keep are the drop-ins that WithoutDropIns leaves.
	Keep []string

	// rendered is set for a load of what a template makes, which has none itself.
	rendered bool
}

func (o *Options) workDir() string {
	if o.WorkDir == "" {
		return "/"
	}
	return o.WorkDir
}

// The limits of one load: far above any real node, and low enough that a
// hostile tree can't hold the caller up.
const (
	maxFiles      = 5_000
	maxTotalBytes = 32 << 20
)

// A File is one file that the runtime reads, or would have read.
type File struct {
	// Path as the runtime opens it.
	Path string `json:"file"`
	// ImportedBy is the path of the file whose imports named it; empty for the
	// main file.
	ImportedBy string `json:"importedBy,omitempty"`
	// Version is the config version that the file says it has; 0 for none.
	Version int `json:"version"`
	// TouchesCRI tells whether it has a section of a CRI plugin.
	TouchesCRI bool `json:"touchesCRI"`
	// Imports are its import patterns, in order.
	Imports []Import `json:"imports,omitempty"`
	// Error says why it can't be read; the load ends there.
	Error string `json:"error,omitempty"`

	doc *outline
	// saved says how it is saved if not as a runtime wants it; "" as it should.
	saved string
	// migrated are the handlers of the file after its own migration (classes C
	// and D), by name.
	effective map[string]any
}

// An Import is one entry of a file's imports.
type Import struct {
	// Pattern as written.
	Pattern string `json:"pattern"`
	// Path is the pattern made absolute, as the runtime does it.
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	// Matched are the files it stands for, in load order.
	Matched []string `json:"matched"`
	// Passed are the files in the same folder that it does not match.
	Passed []string `json:"passed,omitempty"`
}

// A loader reads the files of one load, in the runtime's order.
type loader struct {
	fs    *hostfs.FS
	opt   Options
	rt    Runtime
	files []*File
	bytes int
	// looks is the prober, once it is needed.
	looks *Prober
	// partial is set when the load ended at a file that is not there, which
	// "config dump" of containerd 2.x takes for the end of the files.
	partial bool
	// plugin1 is the decoded section of containerd 1.x, plugins2 those of 2.x.
	plugin1  *schema.Plugin
	plugins2 plugins2
	// merged1 and merged2 are what comes out of all files: of 1.x, or of 2.x.
	merged1 *file1
	merged2 *file2
	// stops is why the daemon would not start, nil if it would.
	stops error
	// probed are the programs of handlers that were looked at.
	probed map[Handler]Runnability
}

// loadFailure is a failure of the runtime's own: exit code and message.
type loadFailure struct {
	exit int
	err  error
}

func (e *loadFailure) Error() string { return e.err.Error() }
func (e *loadFailure) Unwrap() error { return e.err }

func fail(format string, args ...any) error {
	return &loadFailure{exit: 1, err: fmt.Errorf(format, args...)}
}

// crash is a failure of the runtime by a Go panic.
func crash(err error) error { return &loadFailure{exit: 2, err: err} }

// read reads one file. An error that wraps hostfs.ErrRefused is ours and not
// the runtime's.
func (l *loader) read(name string) ([]byte, error) {
	if len(l.files) > maxFiles {
		return nil, fmt.Errorf("%w: more than %d configuration files", hostfs.ErrRefused, maxFiles)
	}
	data, err := l.fs.ReadFile(l.absolute(name))
	if err != nil {
		return nil, rename(err, name)
	}
	if l.bytes += len(data); l.bytes > maxTotalBytes {
		return nil, fmt.Errorf("%w: configuration files of more than %d bytes together", hostfs.ErrRefused, maxTotalBytes)
	}
	if err := checkSize(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// rename puts the path that the runtime was given into an error of hostfs.
func rename(err error, name string) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return &fs.PathError{Op: perr.Op, Path: name, Err: perr.Err}
	}
	return err
}

func (l *loader) absolute(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(l.opt.workDir(), name)
}

func (l *loader) without(name string) bool {
	if name == l.opt.Path {
		return false
	}
	match := func(list []string) bool {
		for _, w := range list {
			if w == name || path.Base(w) == w && path.Base(name) == w {
				return true
			}
		}
		return false
	}
	return match(l.opt.Without) || (l.opt.WithoutDropIns && !match(l.opt.Keep))
}

// queue walks the files breadth first: each file once, in the order that the
// imports of the files before it gave.
func (l *loader) queue(load func(f *File, data []byte) ([]string, error)) error {
	type item struct{ path, by string }
	pending := []item{{path: l.opt.Path}}
	loaded := set{}
	for len(pending) > 0 {
		next := pending[0]
		pending = pending[1:]
		if loaded[next.path] || l.without(next.path) {
			continue
		}
		f := &File{Path: next.path, ImportedBy: next.by}
		data, err := l.read(next.path)
		if err == nil {
			f.doc, f.saved = scanOutline(data), savedAs(data)
		}
		l.files = append(l.files, f)
		var imports []string
		if err == nil {
			imports, err = load(f, data)
		}
		if err == nil {
			imports, err = l.resolveImports(f, imports)
		}
		if err != nil {
			f.Error = err.Error()
			return l.wrapRead(f, err)
		}
		loaded[next.path] = true
		for _, name := range imports {
			pending = append(pending, item{name, next.path})
		}
		if len(pending) > 100*maxFiles {
			return fmt.Errorf("%w: more than %d imports", hostfs.ErrRefused, 100*maxFiles)
		}
	}
	return nil
}

type set = map[string]bool

// wrapRead makes an error of reading what the runtime makes of it.
func (l *loader) wrapRead(f *File, err error) error {
	var failure *loadFailure
	var perr *fs.PathError
	switch {
	case errors.Is(err, hostfs.ErrRefused), errors.As(err, &failure):
		return err
	case !errors.As(err, &perr):
		return fail("%w", err)
	case l.rt.class() == classA:
		// go-toml 1 and containerd 1.x wrap it, so that it no longer counts as
		// a missing file.
		return fail("failed to load TOML: %s: %w", f.Path, err)
	case errors.Is(err, fs.ErrNotExist):
		l.partial = true
		return fail("%w", err)
	case perr.Op == "read":
		return fail("failed to unmarshal TOML: toml: %w", err)
	}
	return fail("%w", err)
}

// resolveImports turns a file's imports into paths and notes them in f.
func (l *loader) resolveImports(f *File, imports []string) ([]string, error) {
	var out []string
	for i, pattern := range imports {
		imp := Import{Pattern: pattern, Line: f.doc.importLine(i)}
		name := l.importPath(f.Path, pattern)
		imp.Path = name
		if !strings.Contains(name, "*") {
			imp.Matched = []string{name}
		} else {
			matches, err := l.fs.Glob(name)
			if err != nil && !errors.Is(err, hostfs.ErrRefused) {
				err = fail("%w", err)
			}
			if err != nil {
				f.Imports = append(f.Imports, imp)
				return nil, err
			}
			imp.Matched = matches
		}
		out = append(out, imp.Matched...)
		if l.opt.Without != nil || l.opt.WithoutDropIns {
			imp.Matched = l.withoutOf(imp.Matched)
		}
		f.Imports = append(f.Imports, imp)
	}
	return out, nil
}

// importPath makes an import of a file a path.
func (l *loader) importPath(file, pattern string) string {
	name := path.Clean(pattern)
	if strings.Contains(name, "*") && !l.rt.sinceIn(29, 16) {
		// Up to 1.6.28 and 1.7.15 a relative glob is one of the working folder.
		return l.absolute(pattern)
	}
	if !path.IsAbs(name) {
		name = path.Join(path.Dir(file), name)
	}
	return name
}

func (l *loader) withoutOf(names []string) []string {
	var kept []string
	for _, n := range names {
		if !l.without(n) {
			kept = append(kept, n)
		}
	}
	return kept
}
