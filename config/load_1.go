package config

import (
	"fmt"
	"runtime"
	"strings"

	toml1 "github.com/pelletier/go-toml"

	"github.com/runtimegate/runtimegate/config/schema"
)

// file1 is a file, or the merge of files, as containerd 1.x has it. It is read
// with the library that containerd 1.x itself links: go-toml 1 takes and
// refuses other documents than go-toml 2, and fills structs by other rules.
type file1 = schema.File[toml1.Tree]

func defaults1() *file1 {
	return &file1{
		Version:         1,
		Root:            "/var/lib/containerd",
		State:           "/run/containerd",
		GRPC:            schema.GRPC{Address: "/run/containerd/containerd.sock"},
		DisabledPlugins: []string{},
		RequiredPlugins: []string{},
	}
}

// catch turns a panic into what it is to containerd: a crash.
func catch(err *error) {
	if p := recover(); p != nil {
		if _, ok := p.(runtime.Error); !ok {
			p = fmt.Sprint(p)
		}
		*err = crash(fmt.Errorf("containerd crashes (a Go panic) while it reads this: %v", p))
	}
}

func decode1(rt Runtime, name string, data []byte) (f *file1, err error) {
	defer catch(&err)
	tree, err := toml1.LoadBytes(data)
	if err != nil {
		return nil, fail("failed to load TOML: %s: %w", name, err)
	}
	f = &file1{}
	if err = tree.Unmarshal(f); err == nil {
		err = checkTopKeys(rt, data, tree.Unmarshal)
	}
	if err != nil {
		return nil, fail("failed to unmarshal TOML: %w", err)
	}
	return f, nil
}

// load1 loads the files as containerd 1.x does: of each plugin the last file
// that names it gives the whole section.
func (l *loader) load1() (*file1, error) {
	out := defaults1()
	err := l.queue(func(f *File, data []byte) ([]string, error) {
		file, err := decode1(l.rt, f.Path, data)
		if err != nil {
			return nil, err
		}
		f.Version = file.Version
		mergeTop(out, file, appendAll)
		if out.Plugins == nil {
			out.Plugins = map[string]toml1.Tree{}
		}
		for name, tree := range file.Plugins {
			out.Plugins[name] = tree
		}
		return file.Imports, nil
	})
	if err != nil {
		return out, err
	}
	return out, validate1(l.rt, l.lastPath(), out)
}

func validate1(rt Runtime, last string, out *file1) error {
	bad := func(format string, args ...any) error {
		return fail("failed to load TOML from %s: %w", last, fmt.Errorf(format, args...))
	}
	if out.Version == 0 || out.Version == 1 {
		return nil
	}
	if out.Version < 2 {
		return nil
	}
	if out.Version > 2 && rt.sinceIn(32, 17) {
		return bad("unsupported config version `%d`", out.Version)
	}
	for _, p := range out.DisabledPlugins {
		if !isURI(rt, p) {
			return bad("invalid disabled plugin URI %q expect io.containerd.x.vx", p)
		}
	}
	for _, p := range out.RequiredPlugins {
		if !isURI(rt, p) {
			return bad("invalid required plugin URI %q expect io.containerd.x.vx", p)
		}
	}
	for p := range out.Plugins {
		if !isURI(rt, p) {
			return bad("invalid plugin key URI %q expect io.containerd.x.vx", p)
		}
	}
	return nil
}

func isURI(rt Runtime, name string) bool {
	if rt.atLeast(1, 7, 0) && !strings.HasPrefix(name, "io.containerd.") {
		return false
	}
	return strings.Count(name, ".") >= 3
}

// criName1 is the name under which 1.x looks for the section of a plugin.
func criName1(version int) string {
	if version == 0 || version == 1 {
		return shortCRI
	}
	return oldCRI
}

// decodePlugin1 decodes the CRI plugin's section over its defaults.
func decodePlugin1(rt Runtime, out *file1) (p *schema.Plugin, err error) {
	defer catch(&err)
	p = defaultPlugin1(rt)
	tree, ok := out.Plugins[criName1(out.Version)]
	if !ok {
		return p, nil
	}
	for _, s := range plugin1Spans {
		if !s.in(rt) {
			deleteIn1(&tree, s.path)
		}
	}
	if err := tree.Unmarshal(p); err != nil {
		return nil, fail("%w", err)
	}
	return p, nil
}

// deleteIn1 removes a path in which "*" stands for any key.
func deleteIn1(tree *toml1.Tree, path []string) {
	for i, elem := range path {
		if elem != "*" {
			continue
		}
		parent, ok := tree.GetPath(path[:i]).(*toml1.Tree)
		if !ok {
			return
		}
		for _, key := range parent.Keys() {
			if child, ok := parent.GetPath([]string{key}).(*toml1.Tree); ok {
				deleteIn1(child, path[i+1:])
			}
		}
		return
	}
	_ = tree.DeletePath(path)
}

func defaultPlugin1(rt Runtime) *schema.Plugin {
	p := &schema.Plugin{}
	p.Snapshotter = "overlayfs"
	p.DefaultRuntimeName = "runc"
	p.Runtimes = map[string]schema.Runtime{"runc": {Type: runcV2}}
	p.StreamIdleTimeout = "4h0m0s"
	p.DrainExecSyncIOTimeout = "0s"
	p.ImagePullProgressTimeout = "5m0s"
	return p
}
