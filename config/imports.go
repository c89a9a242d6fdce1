package config

import (
	"path"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// maxPassed bounds the files looked at that the runtime does not read.
const maxPassed = 200

// passedOver reads the files that a person would expect to be read: those in
// the folders of the imports and in folders like conf.d beside the main file.
func (l *loader) passedOver() []*File {
	read := set{}
	for _, f := range l.files {
		read[path.Clean(f.Path)] = true
	}
	var passed []*File
	byDir := map[string][]string{}
	for _, dir := range l.folders() {
		entries, err := l.fs.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if read[name] || e.IsDir() || l.without(name) {
				continue
			}
			own := dir == path.Dir(l.opt.Path)
			if own && (!strings.HasSuffix(name, ".toml") || l.rt.Name == CRIO) {
				continue // beside the main file are many others
			}
			byDir[dir] = append(byDir[dir], name)
			if len(passed) < maxPassed {
				if f := l.passedFile(name); f != nil {
					passed = append(passed, f)
				}
			}
		}
	}
	for _, f := range l.files {
		for i := range f.Imports {
			imp := &f.Imports[i]
			if strings.Contains(imp.Path, "*") {
				imp.Passed = byDir[path.Dir(imp.Path)]
			}
		}
	}
	return passed
}

func (l *loader) passedFile(name string) *File {
	if l.bytes > maxTotalBytes {
		return nil
	}
	data, err := l.fs.ReadFile(name)
	if err != nil || len(data) > hostfs.MaxFileBytes/4 || checkSize(data) != nil {
		return nil
	}
	l.bytes += len(data)
	return &File{Path: name, doc: scanOutline(data)}
}

// folders are where drop-ins may lie, in order and each once.
func (l *loader) folders() []string {
	dir := path.Dir(l.opt.Path)
	dirs := []string{dir, dir + "/conf.d", dir + "/config.d", l.opt.Path + ".d"}
	if l.rt.Name == CRIO {
		dirs = []string{l.crioDir(), dir + "/conf.d", dir + "/config.d"}
	}
	for _, f := range l.files {
		for _, imp := range f.Imports {
			if d := path.Dir(imp.Path); !strings.ContainsAny(d, "*?[") {
				dirs = append(dirs, d)
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// touchesCRI tells whether a file has a section of a CRI plugin.
func (f *File) touchesCRI(rt Runtime) bool {
	if f.doc == nil {
		return false
	}
	if rt.Name == CRIO {
		_, ok := f.doc.below("crio", "runtime")
		return ok
	}
	for _, name := range []string{oldCRI, runtimeCRI, imagesCRI, shortCRI} {
		if _, ok := f.doc.below("plugins", name); ok {
			return true
		}
	}
	return false
}
