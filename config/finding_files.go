package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// imports reports patterns that match nothing though files stand by them.
func (f *finder) imports() {
	for _, file := range f.files {
		for _, imp := range file.Imports {
			if !strings.Contains(imp.Path, "*") || len(imp.Matched) > 0 {
				continue
			}
			var near []string
			for _, p := range imp.Passed {
				if !backup.MatchString(p) {
					near = append(near, path.Base(p))
				}
			}
			at := Place{file.Path, imp.Line}
			if len(near) == 0 {
				f.add(CodeImportMatchesNothing, Info, at, "", "", "the pattern %q matches no file", imp.Pattern)
				continue
			}
			severity := Info
			for _, h := range f.r.Handlers {
				if !f.loaded(h.Name) && slices.ContainsFunc(h.Origins, func(o Origin) bool { return slices.Contains(imp.Passed, o.File) }) {
					severity = Warning
				}
			}
			f.add(CodeImportMatchesNothing, severity, at, "", fmt.Sprintf("rename the files so that %q matches them, or change the pattern", path.Base(imp.Path)),
				"the pattern %q matches no file, though its folder has %s", imp.Pattern, names(near))
		}
	}
}

// versions reports drop-ins of a higher config version than the main file.
func (f *finder) versions() {
	if f.rt.Name != Containerd || len(f.files) == 0 {
		return
	}
	root := f.files[0].Version
	for _, file := range f.files[1:] {
		if file.Version <= root {
			continue
		}
		line := 1
		if m, ok := file.doc.find("version"); ok {
			line = m.at.line
		}
		severity, effect := Info, "each file is migrated by itself"
		switch {
		case f.r.Daemon.State == NoStart && file.Error != "" || f.rt.class() == classA && f.r.Daemon.State == NoStart:
			severity, effect = Error, fmt.Sprintf("containerd %s does not start with that", f.rt.Version)
		case f.rt.class() == classB && root < 3 && file.Version >= 3 && f.hasLost():
			severity, effect = Error, "containerd 2.0 to 2.2 then migrate no file, and what stands below the old plugin name is lost"
		case f.rt.class() == classA:
			effect = "the last version counts for all files"
		case f.rt.class() == classB:
			effect = "containerd 2.0 to 2.2 then migrate no file"
		}
		f.add(CodeHigherDropInVersion, severity, Place{file.Path, line}, "", fmt.Sprintf("write version = %d and the plugin names of that version", root),
			"this drop-in is of version %d and the main file of version %d: %s", file.Version, root, effect)
	}
}

// twoNames reports files of version 0 or 1 that have the CRI plugin under two
// names.
func (f *finder) twoNames() {
	if f.rt.Name != Containerd || f.rt.class() == classA {
		return
	}
	for _, file := range f.files {
		short, ok := file.doc.below("plugins", shortCRI)
		if _, both := file.doc.below("plugins", oldCRI); !ok || !both || file.Version > 1 {
			continue
		}
		f.add(CodeTwoNames, Warning, Place{file.Path, short.at.line}, "", fmt.Sprintf("keep %s only, and write version = 2", quoteKey(oldCRI)),
			"this file has the CRI plugin as %q and as %q: containerd takes one of the two, by chance at each start", shortCRI, oldCRI)
	}
}

// hasLost tells whether a handler got lost in the migration.
func (f *finder) hasLost() bool {
	return slices.ContainsFunc(f.r.Handlers, func(h HandlerReport) bool {
		return !f.loaded(h.Name) && slices.ContainsFunc(h.Origins, func(o Origin) bool { return o.cause == causeMigration })
	})
}
