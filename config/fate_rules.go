package config

import (
	"fmt"
	"strings"
)

// judge returns the function that decides for one place in a file that is read.
func (l *loader) judge(r *Result) func(f *File, o *Origin) {
	switch {
	case l.rt.Name == CRIO:
		return l.judgeCRIO
	case l.rt.class() == classA:
		return l.judge1(r)
	}
	return l.judge2(r)
}

func (o *Origin) ignored(c cause, format string, args ...any) {
	o.Fate, o.cause, o.Why = Ignored, c, fmt.Sprintf(format, args...)
}

func (o *Origin) lost(by Place, format string, args ...any) {
	o.Fate, o.cause, o.Why, o.By = Lost, causeMigration, fmt.Sprintf(format, args...), &by
}

// misplaced decides for what no version of containerd would take as a handler.
func (o *Origin) misplaced(f *File) bool {
	t := o.table
	switch {
	case criTable(t, "") || len(t) == 4 && t[0] == "plugins" && t[2] == "runtimes":
		return false
	case len(t) == 6 && criTable(t[:5], ""):
		o.ignored(causeWrongParent, "an unquoted dot makes [%s] a part of handler %q", tableText(t), t[4])
		o.fix = fmt.Sprintf("write [%s], or give it a name without a dot", tableText(append(append([]string{}, t[:4]...), t[4]+"."+t[5])))
	default:
		o.ignored(causeWrongParent, "%s", o.noPlace())
	}
	return true
}

// noPlace says of a table that no handler is read there.
func (o *Origin) noPlace() string {
	if o.part != nil {
		return fmt.Sprintf("[%s] is no place for a part of a handler", tableText(o.part))
	}
	return fmt.Sprintf("[%s] is no place for a handler", tableText(o.table))
}

// tableText writes a table's key as one would in a file.
func tableText(table []string) string {
	elems := make([]string, len(table))
	for i, e := range table {
		elems[i] = quoteKey(e)
	}
	return strings.Join(elems, ".")
}

// judge1 knows the rules of 1.x: of each plugin the last file has all.
func (l *loader) judge1(r *Result) func(f *File, o *Origin) {
	plugin, version := criSection1(l.files)
	winner := -1
	for i, f := range l.files {
		if _, ok := f.doc.below("plugins", plugin); ok {
			winner = i
		}
	}
	return func(f *File, o *Origin) {
		switch {
		case o.misplaced(f):
		case o.plugin != plugin:
			o.wrongPlugin(plugin, version, l.rt)
		case len(o.table) == 4:
			// go-toml 1 looks here when there is no table containerd.
			if _, ok := l.files[winner].doc.below("plugins", plugin, "containerd"); ok {
				o.ignored(causeWrongParent, "%s", o.noPlace())
				return
			}
			fallthrough
		default:
			o.Fate = Loaded
			if l.files[winner] == f {
				return
			}
			at, _ := l.files[winner].doc.below("plugins", plugin)
			o.Fate, o.cause = Overridden, causeReplaced
			o.By = &Place{File: l.files[winner].Path, Line: at.at.line}
			o.Why = fmt.Sprintf("%s:%d replaces the plugin's whole section: in containerd 1.x the last file that has it wins", o.By.File, o.By.Line)
		}
	}
}

// criSection1 is the name of the section that 1.x reads, and the version of config
// files that makes it so: the last one that any of them says.
func criSection1(files []*File) (plugin string, version int) {
	version = 1
	for _, f := range files {
		if f.Version != 0 {
			version = f.Version
		}
	}
	return criName1(version), version
}

// wrongPlugin decides for a section of another plugin than the one that counts.
func (o *Origin) wrongPlugin(plugin string, version int, rt Runtime) {
	switch o.plugin {
	case oldCRI, runtimeCRI, shortCRI, imagesCRI:
		o.ignored(causeWrongPlugin, "containerd %s reads %s in a version %d configuration, not %s", rt.Version, plugin, version, o.plugin)
	default:
		o.ignored(causeUnknownPlugin, "containerd has no plugin %s with handlers", quoteKey(o.plugin))
	}
}

// judge2 knows the rules of 2.x: tables are merged, and the old plugin's
// section is migrated at best.
func (l *loader) judge2(r *Result) func(f *File, o *Origin) {
	merged := l.mergedMigration()
	return func(f *File, o *Origin) {
		plugin := o.plugin
		if f.Version < 2 {
			plugin = fullPluginName(plugin)
		}
		if plugin == runtimeCRI {
			o.table = canonical(o.table)
		}
		switch {
		case o.misplaced(f) || len(o.table) == 4 && o.misplaced4():
		case plugin == runtimeCRI:
			o.Fate = Loaded
		case plugin != oldCRI:
			o.wrongPlugin(runtimeCRI, l.rt.configVersion(), l.rt)
		case l.rt.class() == classB:
			merged(f, o)
		default:
			l.judgeMigrated(f, o)
		}
	}
}

func (o *Origin) misplaced4() bool {
	o.ignored(causeWrongParent, "%s: the table containerd is missing in between", o.noPlace())
	return true
}

// judgeMigrated is for 2.3 and later, where each file is migrated by itself.
func (l *loader) judgeMigrated(f *File, o *Origin) {
	newest := l.rt.configVersion()
	if f.Version >= newest {
		o.ignored(causeWrongPlugin, "a version %d file has its handlers below %s: %s is not migrated there", f.Version, runtimeCRI, oldCRI)
		return
	}
	o.Fate = Loaded
	if m, ok := f.doc.below("plugins", runtimeCRI, "containerd", "runtimes"); ok {
		o.lost(Place{f.Path, m.at.line}, "the file has handlers below %s too (line %d): the migration then moves none from %s", runtimeCRI, m.at.line, oldCRI)
	}
}

// mergedMigration is for 2.0 to 2.2, which migrate once, after the merge, and
// only when the version that came out of it is below 3.
func (l *loader) mergedMigration() func(f *File, o *Origin) {
	version := l.rt.configVersion()
	var last, own *File
	for _, f := range l.files {
		if f.Version > 1 {
			version, last = f.Version, f
		} else if l.rt.class() == classB {
			// A file of version 0 or 1 takes the version reached so far.
			if last == nil {
				last = f
			}
		}
		if _, ok := f.doc.below("plugins", runtimeCRI, "containerd", "runtimes"); ok {
			own = f
		}
	}
	return func(f *File, o *Origin) {
		o.Fate = Loaded
		switch {
		case version >= l.rt.configVersion() && f.Version >= 3:
			o.ignored(causeWrongPlugin, "a version %d file has its handlers below %s: %s is not migrated there", f.Version, runtimeCRI, oldCRI)
		case version >= l.rt.configVersion() && f.Version < 2:
			o.lost(Place{f.Path, 1}, "a file without version (or of version 1) counts as version %d here, so %s is not migrated: write version = 2 or use %s", version, oldCRI, runtimeCRI)
		case version >= l.rt.configVersion():
			at, _ := last.doc.find("version")
			o.lost(Place{last.Path, max(1, at.at.line)}, "%s:%d makes the whole configuration version %d, so the section %s of this version %d file is not migrated", last.Path, max(1, at.at.line), version, oldCRI, f.Version)
		case own != nil:
			at, _ := own.doc.below("plugins", runtimeCRI, "containerd", "runtimes")
			o.lost(Place{own.Path, at.at.line}, "%s:%d has handlers below %s: the migration then moves none from %s", own.Path, at.at.line, runtimeCRI, oldCRI)
		}
	}
}

func (l *loader) judgeCRIO(f *File, o *Origin) {
	t := o.table
	if len(t) != 4 || t[0] != "crio" || t[1] != "runtime" || t[2] != "runtimes" {
		o.ignored(causeWrongParent, "[%s] is no place for a handler of CRI-O: write [crio.runtime.runtimes.%s]", tableText(t), quoteKey(o.name))
		return
	}
	o.Fate = Loaded
	for i := len(l.files) - 1; i >= 0 && l.files[i] != f; i-- {
		if m, ok := l.files[i].doc.below("crio", "runtime", "runtimes", o.name); ok {
			o.Fate, o.cause = Overridden, causeReplaced
			o.By = &Place{l.files[i].Path, m.at.line}
			o.Why = fmt.Sprintf("%s:%d defines the handler again: in CRI-O the later definition replaces it whole", o.By.File, o.By.Line)
			return
		}
	}
}
