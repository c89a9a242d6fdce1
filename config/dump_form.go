package config

import (
	"fmt"
	"slices"
	"strings"
)

// maxConfigVersion is that of containerd 2.3 and 2.4.
const maxConfigVersion = 4

// newDump decides what the tree of an input says about the CRI plugin.
func newDump(name string, root *dumpNode) (*Dump, error) {
	r := &dumpReader{name: name}
	d := &Dump{Name: name, doubts: map[string]string{}}
	top := dumpView{root}
	var err error
	if d.Version, err = r.version(top); err != nil {
		return nil, err
	}
	imports, err := r.strings(top, "imports")
	if err != nil {
		return nil, err
	}
	disabled, err := r.strings(top, "disabled_plugins")
	if err != nil {
		return nil, err
	}
	plugins, err := r.table(top, "plugins", "plugins")
	if err != nil {
		return nil, err
	}
	sections, err := r.sections(plugins, d.Version)
	if err != nil {
		return nil, err
	}
	d.IsDump, d.FormReason = dumpForm(d.Version, top, plugins, imports)
	d.noteForm(imports)
	if d.Version > maxConfigVersion {
		d.note("%s: config version %d is newer than the newest known, %d, and read like that", name, d.Version, maxConfigVersion)
	}
	d.setState(sections, disabled)
	if d.IsDump {
		d.fromDump(sections)
	} else {
		d.fromFile(sections)
	}
	d.CDI = sections.cdi(d)
	d.noteDefault(sections)
	return d, nil
}

func (d *Dump) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); s != "" {
		d.Notes = append(d.Notes, s)
	}
}

// dumpSections are the sections of the CRI plugin under its two names: the new
// one of containerd 2.x, and the old one of 1.x (or the short form of it).
type dumpSections struct{ new, old *dumpSection }

func (r *dumpReader) sections(plugins dumpView, version int) (s dumpSections, err error) {
	if s.new, err = r.section(plugins, pluginCRIRuntime); err != nil {
		return s, err
	}
	if s.old, err = r.section(plugins, pluginCRI); err != nil || version > 1 {
		return s, err
	}
	// A file of version 1 is read under the short name first
	// (services/server/config, Config.Decode, v1.7.35).
	short, err := r.section(plugins, pluginCRIShort)
	if short != nil {
		s.old = short
	}
	return s, err
}

// dumpForm tells a dump from a config file by what outputConfig in
// cmd/containerd/command/config.go (1.6 to 2.4) always prints: the scalars with
// their defaults, the built-in timeouts, the section of every plugin.
func dumpForm(version int, top, plugins dumpView, imports []*dumpNode) (bool, string) {
	if version == 0 {
		return false, "it has no version"
	}
	for _, key := range []string{"root", "state", "oom_score", "disabled_plugins", "required_plugins", "imports"} {
		if len(top.field(key)) == 0 {
			return false, "it has no key " + key
		}
	}
	builtin := false
	for _, t := range top.field("timeouts") {
		builtin = builtin || slices.ContainsFunc(t.names, func(name string) bool {
			return strings.HasPrefix(name, "io.containerd.timeout.")
		})
	}
	if !builtin {
		return false, "it has none of containerd's built-in timeouts"
	}
	others := 0
	for _, t := range plugins {
		for _, name := range t.names {
			if name != pluginCRI && name != pluginCRIRuntime && name != pluginCRIImages {
				others++
			}
		}
	}
	if others < 4 {
		return false, "it lacks the sections of containerd's other plugins"
	}
	// 1.x prints the files it has read, the main file first; 2.x prints the
	// patterns.
	if version <= 2 {
		for _, item := range imports {
			if strings.Contains(item.text, "*") {
				return false, fmt.Sprintf("it imports the pattern %q, where a dump of containerd 1.x has the files", item.text)
			}
		}
		if len(imports) == 0 {
			return false, "it imports nothing, not even a main file, as the output of \"containerd config default\" does"
		}
	}
	return true, ""
}

func (d *Dump) noteForm(imports []*dumpNode) {
	if d.IsDump {
		return
	}
	rest := ""
	if len(imports) > 0 {
		rest = fmt.Sprintf("; its imports (%q%s) were not followed", imports[0].text, strings.Repeat(", …", min(1, len(imports)-1)))
	}
	d.note("%s is not the output of \"containerd config dump\" (%s): it shows what one file defines and is not proof of what is loaded%s", d.Name, d.FormReason, rest)
}

// setState decides whether the CRI plugin runs.
func (d *Dump) setState(s dumpSections, disabled []*dumpNode) {
	for _, item := range disabled {
		if d.disables(item.text) {
			d.State = CRIDisabled
			d.Reason = fmt.Sprintf("%s:%d:%d: the CRI plugin is disabled (disabled_plugins holds %q), so containerd serves no handler at all: remove that entry and restart containerd", d.Name, item.at.line, item.at.column, item.text)
			return
		}
	}
	if s.new != nil || s.old != nil {
		// In 2.x the old name alone is the server half, without handlers.
		if !d.IsDump || d.Version < 3 || s.new != nil || s.old.tables {
			return
		}
	}
	d.State = CRIAbsent
	if d.IsDump {
		d.Reason = d.Name + ": the dump has no section of the CRI plugin, so this containerd was built without it and serves no handler at all"
	} else {
		d.Reason = d.Name + ": no section of the CRI plugin in this file, and it is no dump: its handlers come from its imports or containerd's defaults; give the output of \"containerd config dump\""
	}
}

// disables says whether that entry of disabled_plugins keeps the CRI plugin
// from running. The short name counts in files of version 1 only, but a dump
// prints the list as it was read and version 2 beside it (v1.7.35); in a file
// of version 2 and later it keeps containerd from starting. The halves of the
// plugin that 2.x has are names without meaning to 1.x, whose dumps are of
// version 2.
func (d *Dump) disables(plugin string) bool {
	switch plugin {
	case pluginCRI, pluginCRIShort:
		return true
	case pluginCRIRuntime, pluginCRIImages:
		return d.Version >= 3 || !d.IsDump
	}
	return false
}

// fromDump takes the handlers of a dump.
func (d *Dump) fromDump(s dumpSections) {
	d.Handlers = sortedHandlers(s.new, s.old)
	d.setDefault(s)
	switch {
	case s.old != nil && s.old.tables && s.new != nil && s.new.tables:
		d.Incomplete = fmt.Sprintf("%s:%d: handlers stand under both names of the CRI plugin (line %d has the other), so the dump was not migrated and proves the absence of none", d.Name, s.new.at.line, s.old.at.line)
		d.noteOldOnly(s)
	case d.Version >= 3 && s.old != nil && s.old.tables:
		d.Incomplete = fmt.Sprintf("%s:%d: a version %d dump with handlers under the old name %q was not migrated and proves the absence of none", d.Name, s.old.at.line, d.Version, pluginCRI)
		d.noteOldOnly(s)
	case d.Version <= 2 && s.old == nil && s.new != nil:
		d.Incomplete = fmt.Sprintf("%s:%d: a version %d dump is of containerd 1.x, which does not read %q", d.Name, s.new.at.line, d.Version, pluginCRIRuntime)
	}
	if s.old != nil {
		d.Extra = s.old.extra
	}
	for _, h := range d.Extra {
		d.note("%s: containerd 1.x adds handler %q (%s) at its start, from a deprecated table outside of runtimes", d.Name, h.Name, h.RuntimeType)
	}
	d.MaybeUnmigrated = d.Version == 3 && s.new != nil && hasEarly20Form(s.new)
}

// noteOldOnly names what stands under the old name only.
func (d *Dump) noteOldOnly(s dumpSections) {
	for _, name := range s.oldOnly() {
		at := s.old.places[name]
		d.note("%s:%d:%d: handler %q stands under the old plugin name only; containerd 2.x loads it when it comes from a version 2 file, not from one of version %d", d.Name, at.line, at.column, name, d.Version)
	}
}

// oldOnly returns the handlers under the old name that the new one lacks.
func (s dumpSections) oldOnly() []string {
	if s.old == nil {
		return nil
	}
	var names []string
	for _, h := range sortedHandlers(s.old) {
		if s.new != nil {
			if _, both := s.new.handlers[h.Name]; both {
				continue
			}
		}
		names = append(names, h.Name)
	}
	return names
}

// hasEarly20Form recognizes dumps of containerd 2.0.0 to 2.0.6 by the built-in
// options of runc: SystemdCgroup came with 2.0.7, and 2.1.0, which has not got
// it either, prints cgroup_writable. (2.x merges into the built-in handler, so
// that its options are always printed.)
func hasEarly20Form(s *dumpSection) bool {
	if len(s.runc) != 1 || s.runc[0].fields["cgroup_writable"] != nil {
		return false
	}
	options := s.runc[0].fields["options"]
	return options != nil && options.fields["NoNewKeyring"] != nil && options.fields["SystemdCgroup"] == nil
}

func (d *Dump) setDefault(s dumpSections) {
	for _, section := range []*dumpSection{s.old, s.new} {
		if section != nil && section.dflt != nil {
			d.DefaultHandler = section.dflt.text
		}
	}
}

// cdi says whether containerd injects CDI devices. The key enable_cdi is there
// in 1.7 to 2.3; 2.4 has dropped it and always does (internal/cri/server,
// v2.4.2), 1.6 knows no CDI at all.
func (s dumpSections) cdi(d *Dump) *bool {
	for _, section := range []*dumpSection{s.new, s.old} {
		if section == nil {
			continue
		}
		if section.cdi != nil {
			on := section.cdi.text == "true"
			return &on
		}
		if d.IsDump && d.State == CRIOn && (section == s.new || d.Version <= 2) {
			on := section.cdiDirs
			return &on
		}
	}
	return nil
}

// noteDefault warns of a default that keeps the CRI plugin from starting
// (ValidateRuntimeConfig, 1.6 to 2.4).
func (d *Dump) noteDefault(s dumpSections) {
	if d.State != CRIOn {
		return
	}
	for _, h := range d.Extra {
		if h.Name == "default" {
			return // becomes the default (1.x)
		}
	}
	if d.DefaultHandler == "" {
		d.note("%s: default_runtime_name is empty: containerd would start with its CRI plugin off", d.Name)
		return
	}
	if _, ok := d.doubts[d.DefaultHandler]; ok {
		return
	}
	if _, ok := d.Handler(d.DefaultHandler); !ok {
		d.note("%s: the default handler %q is not defined: containerd would start with its CRI plugin off and serve no handler", d.Name, d.DefaultHandler)
	}
}
