package config

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// dnsLabel is what RuntimeClass.handler may be.
var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// handler reports what is wrong with one handler that is loaded.
func (f *finder) handler(h *HandlerReport) {
	if !f.loaded(h.Name) {
		return
	}
	f.optionTypes(h)
	at := f.place(h)
	isDefault := h.Name == f.final.DefaultHandler
	grave := Warning
	if isDefault {
		grave = Error
	}
	if !dnsLabel.MatchString(h.Name) {
		f.add(CodeUnreferencable, Warning, at, h.Name, "give the handler a name of small letters, digits and dashes",
			"no RuntimeClass can name the handler %q: it is no DNS label", h.Name)
	}
	if h.RuntimeType == "" && f.rt.Name == Containerd {
		f.add(CodeRuntimeTypeEmpty, grave, at, h.Name, fmt.Sprintf(`set runtime_type = %q in [%s]`, runcV2, f.tableFor(h.Name)),
			"handler %q has no runtime_type: none of its Pods can start", h.Name)
		return
	}
	if f.rt.Name == Containerd && h.BinaryName != "" && !isRuncShim(h.Handler) {
		f.add(CodeBinaryNameIgnored, Warning, at, h.Name, "give the shim its own options, or use runtime_type "+runcV2,
			"handler %q has options.BinaryName = %q, which only the runc shim reads, and runtime_type %s", h.Name, h.BinaryName, h.RuntimeType)
	}
	for _, found := range h.Runnability.Findings(h.Handler, isDefault) {
		f.add(found.Code, found.Severity, at, h.Name, found.Fix, "%s", found.Message)
	}
}

// place is the last place that counts for a handler.
func (f *finder) place(h *HandlerReport) Place {
	at := f.main()
	for _, o := range h.Origins {
		if o.Fate == Loaded || o.Fate == Merged {
			at = Place{o.File, o.Line}
		}
	}
	return at
}

// origins reports what became of the places that define a handler.
func (f *finder) origins(h *HandlerReport) {
	loaded := f.loaded(h.Name)
	owners := map[string]int{}
	for _, o := range h.Origins {
		if o.Fate == Loaded || o.Fate == Merged {
			owners[o.File] = o.Line
			f.unknownKeys(h, &o)
		}
		f.origin(h, &o, loaded)
	}
	if len(owners) > 1 {
		var places []string
		for _, file := range sortedKeys(owners) {
			places = append(places, fmt.Sprintf("%s:%d", file, owners[file]))
		}
		f.add(CodeDuplicateOwner, Info, f.place(h), h.Name, "keep each handler in one file",
			"handler %q is put together from several files: %s", h.Name, strings.Join(places, ", "))
	}
}

func (f *finder) origin(h *HandlerReport, o *Origin, loaded bool) {
	// What another place gives anyway is no loss.
	severity := func(s Severity) Severity {
		switch {
		case loaded:
			return Info
		case h.Name == "runc" && f.final.DefaultHandler != "runc":
			// Hardly any RuntimeClass names runc.
			return Warning
		}
		return s
	}
	at := Place{o.File, o.Line}
	fix := f.moveTo(o)
	switch o.cause {
	case causeReplaced:
		f.add(CodeSectionReplaced, severity(Error), *o.By, h.Name, f.replacedFix(o), "%s", f.replacedText(h, o, loaded))
	case causeMigration:
		f.add(CodeLostInMigration, severity(Error), at, h.Name, "give all files the same version and plugin name: "+fix,
			"handler %q is lost: %s", h.Name, o.Why)
	case causeWrongPlugin:
		code := CodeOldPluginName
		if f.rt.class() == classA || o.plugin == imagesCRI {
			code = CodeWrongPluginName
		}
		f.add(code, f.worst(severity(Error), h, o), at, h.Name, fix, "%s is ignored: %s", f.what(h, o), o.Why)
	case causeUnknownPlugin:
		hint := ""
		if near := Nearest(o.plugin, []string{oldCRI, runtimeCRI}); near != "" {
			hint = fmt.Sprintf("; %s was meant", near)
		}
		f.add(CodeUnknownPlugin, f.worst(severity(Warning), h, o), at, h.Name, fix, "%s is ignored: %s%s", f.what(h, o), o.Why, hint)
	case causeWrongParent:
		f.add(CodeWrongParentTable, f.worst(severity(Warning), h, o), at, h.Name, fix, "%s is ignored: %s", f.what(h, o), o.Why)
	case causeVanished:
		// Where it serves no CRI there is a finding that says so.
		if f.r.Daemon.State == Running && f.rt.Name == Containerd {
			f.add(CodeTypeReplaced, severity(Error), at, h.Name, "take that value out; \"runtimegate explain --bisect\" shows which file has it",
				"handler %q is lost: a file that is read later gives a table above it a value of another type, which takes all away that was in it", h.Name)
		}
	case causeNotRead:
		f.notImported(h, o, severity(Warning))
	}
}

func (f *finder) replacedFix(o *Origin) string {
	if f.rt.Name == CRIO {
		return "put the whole handler into one file"
	}
	return fmt.Sprintf("put the CRI settings of %s and %s into one file, the last that is read", o.File, o.By.File)
}

func (f *finder) replacedText(h *HandlerReport, o *Origin, loaded bool) string {
	text := fmt.Sprintf("%s:%d takes away handler %q of %s:%d", o.By.File, o.By.Line, h.Name, o.File, o.Line)
	if loaded {
		text = fmt.Sprintf("%s:%d defines handler %q of %s:%d anew", o.By.File, o.By.Line, h.Name, o.File, o.Line)
	}
	if f.rt.Name == CRIO {
		return text + ": in CRI-O the later definition replaces the handler whole"
	}
	return text + ": in containerd 1.x the last file that has the CRI plugin's section replaces the whole section"
}

// backup matches what migrate keeps of a file that it has replaced: nothing is to read
// that.
var backup = regexp.MustCompile(`\.runtimegate-\d{8}T\d{6}Z$`)

func (f *finder) notImported(h *HandlerReport, o *Origin, severity Severity) {
	if strings.HasSuffix(o.File, ".tmpl") || backup.MatchString(o.File) {
		return
	}
	dir := path.Dir(o.File)
	fix := fmt.Sprintf("add %q to imports in %s", dir+"/*"+path.Ext(o.File), f.opt.Path)
	why := "no imports of " + f.opt.Path + " name it"
	empty, near := "", false
	for _, file := range f.files {
		for _, imp := range file.Imports {
			pattern := fmt.Sprintf("the pattern %q of %s:%d", imp.Pattern, file.Path, max(1, imp.Line))
			switch matches, _ := path.Match(imp.Path, o.File); {
			case matches:
				return // the runtime does not get as far as it: another finding says why
			case path.Dir(imp.Path) == dir:
				why, near = pattern+" does not match it", true
				fix = fmt.Sprintf("rename it so that %q matches it, or correct the pattern", path.Base(imp.Path))
			case len(imp.Matched) == 0:
				empty = "; " + pattern + " matches no file"
			}
		}
	}
	if !near {
		why += empty
	}
	if f.rt.Name == CRIO {
		if dir == f.crioDir() {
			return // as above
		}
		why = "CRI-O reads " + f.crioDir() + " only"
		fix = "move it to " + f.crioDir()
	}
	f.add(CodeNotImported, severity, Place{o.File, o.Line}, h.Name, fix+", then restart the runtime", "handler %q stands in a file that nothing reads: %s", h.Name, why)
}

// replacedBuiltin reports a drop-in of 1.x that takes the built-in handler
// away, which then is the default still.
func (f *finder) replacedBuiltin() {
	if f.rt.Name != Containerd || f.rt.class() != classA || f.r.Dump.Exit != 0 || f.loaded("runc") || f.final.DefaultHandler != "runc" {
		return
	}
	last := -1
	for i, file := range f.files {
		if file.TouchesCRI {
			last = i
		}
	}
	if last < 1 {
		return
	}
	for _, h := range f.r.Handlers {
		if h.Name == "runc" && len(h.Origins) > 0 {
			return // its own origins tell
		}
	}
	at := Place{File: f.files[last].Path, Line: 1}
	for _, m := range f.files[last].doc.marks {
		if m.path[0] == "plugins" {
			at.Line = m.at.line
			break
		}
	}
	f.add(CodeSectionReplaced, Error, at, "runc", fmt.Sprintf("define [%s] in this file too", f.tableFor("runc")),
		"%s:%d takes away the built-in handler \"runc\": in containerd 1.x a table runtimes replaces the built-in one", at.File, at.Line)
}
