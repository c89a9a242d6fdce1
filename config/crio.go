package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// DefaultCRIOPath is CRI-O's main file; its drop-ins are in the folder of the
// same name with ".d" behind.
const DefaultCRIOPath = "/etc/crio/crio.conf"

// crioFile is what of a CRI-O file matters here. Keys that CRI-O does not know
// it ignores without a word.
type crioFile struct {
	Crio struct {
		Runtime struct {
			DefaultRuntime *string                `toml:"default_runtime"`
			Runtimes       map[string]crioHandler `toml:"runtimes"`
		} `toml:"runtime"`
	} `toml:"crio"`
}

type crioHandler struct {
	Path               string   `toml:"runtime_path"`
	Type               string   `toml:"runtime_type"`
	Root               string   `toml:"runtime_root"`
	ConfigPath         string   `toml:"runtime_config_path"`
	MonitorPath        string   `toml:"monitor_path"`
	MonitorCgroup      string   `toml:"monitor_cgroup"`
	AllowedAnnotations []string `toml:"allowed_annotations"`
	WithoutHostDevices bool     `toml:"privileged_without_host_devices"`
}

// crioBuiltin is the handler that CRI-O has of itself: runc up to 1.30.
func crioBuiltin(rt Runtime) string {
	if rt.atLeast(1, 31, 0) {
		return "crun"
	}
	return "runc"
}

// crioAnswer loads CRI-O's files: the main one, then every file below the
// drop-in folder in the order of a walk. A handler is replaced whole by a later
// file, the default by the last that sets one.
func (l *loader) crioAnswer() (dump DumpAnswer, daemon DaemonAnswer, err error) {
	builtin := crioBuiltin(l.rt)
	all := map[string]crioHandler{builtin: {}}
	def, touched := builtin, false
	paths, err := l.crioPaths()
	for _, name := range paths {
		if err != nil {
			break
		}
		var file crioFile
		if err = l.readCRIO(name, &file); err != nil {
			break
		}
		for name, h := range file.Crio.Runtime.Runtimes {
			all[name], touched = h, true
		}
		if d := file.Crio.Runtime.DefaultRuntime; d != nil {
			def = *d
		}
	}
	if refused(err) {
		return dump, daemon, err
	}
	if err == nil {
		if _, ok := all[def]; !ok {
			err = fail("validating runtime config: default_runtime set to %q, but no runtime entry table [crio.runtime.runtimes.%s] was found", def, def)
		}
	}
	if err != nil {
		dump.fail(err)
		return dump, noStart(err), nil
	}
	cri := CRI{DefaultHandler: def, Handlers: crioHandlers(all)}
	// "crio config" prints what is as built in as a comment only.
	if touched {
		dump.CRI.Handlers = cri.Handlers
	}
	if def != builtin {
		dump.CRI.DefaultHandler = def
	}
	return dump, l.crioDaemon(cri), nil
}

func crioHandlers(all map[string]crioHandler) []Handler {
	var c CRI
	for name, h := range all {
		t := h.Type
		if t == "" {
			t = "oci"
		}
		c.Handlers = append(c.Handlers, Handler{Name: name, RuntimeType: t, RuntimePath: h.Path})
	}
	c.Sort()
	return c.Handlers
}

// crioDaemon drops the handlers whose program is missing, as CRI-O does with a
// warning; without the default's it does not start.
func (l *loader) crioDaemon(cri CRI) DaemonAnswer {
	d := DaemonAnswer{State: Running, CRI: CRI{DefaultHandler: cri.DefaultHandler}}
	for _, h := range cri.Handlers {
		p := l.prober().Probe(h).program()
		if p.State != NotFound {
			d.CRI.Handlers = append(d.CRI.Handlers, h)
		} else if h.Name == cri.DefaultHandler {
			return noStart(fmt.Errorf("runtime %q is the default, and %s does not exist", h.Name, p.Path))
		}
	}
	return d
}

// crioPaths lists the files in load order.
func (l *loader) crioPaths() ([]string, error) {
	var paths []string
	_, _, err := l.fs.Resolve(l.opt.Path)
	switch {
	case err == nil:
		paths = append(paths, l.opt.Path)
	case !errors.Is(err, fs.ErrNotExist) || !l.opt.PathOptional:
		return nil, fail("%w", err)
	}
	dir := l.crioDir()
	err = l.walkCRIO(dir, 0, &paths)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return paths, err
}

func (l *loader) crioDir() string {
	if l.opt.DropInDir != "" {
		return l.opt.DropInDir
	}
	return l.opt.Path + ".d"
}

func (l *loader) walkCRIO(dir string, depth int, paths *[]string) error {
	entries, err := l.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && depth < maxDepth:
			if err := l.walkCRIO(name, depth+1, paths); err != nil {
				return err
			}
		case !e.IsDir() && !l.without(name):
			*paths = append(*paths, name)
		}
		if len(*paths) > maxFiles {
			return fmt.Errorf("%s: %w: more than %d files", dir, hostfs.ErrRefused, maxFiles)
		}
	}
	return nil
}

func (l *loader) readCRIO(name string, into *crioFile) (err error) {
	defer catch(&err)
	f := &File{Path: name}
	if name != l.opt.Path {
		f.ImportedBy = l.opt.Path
	}
	data, err := l.read(name)
	l.files = append(l.files, f)
	if err == nil {
		f.doc, f.saved = scanOutline(data), savedAs(data)
		_, f.TouchesCRI = f.doc.below("crio", "runtime")
		err = toml.Unmarshal(data, into)
	}
	if err != nil {
		f.Error = strings.TrimPrefix(err.Error(), "toml: ")
		if refused(err) {
			return err
		}
		return fail("%s: %w", name, err)
	}
	return nil
}
