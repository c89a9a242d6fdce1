package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Fate is what became of a handler that some file defines.
type Fate string

// The fates, from the best to the worst.
const (
	// Loaded: the runtime would have it, from one place.
	Loaded Fate = "Loaded"
	// Merged: the runtime would have it, put together from several files.
	Merged Fate = "Merged"
	// Overridden: a later file takes it away.
	Overridden Fate = "Overridden"
	// Lost: the migration to a newer config version leaves it behind, or the
	// daemon does not start or serves no CRI.
	Lost Fate = "Lost"
	// Ignored: it stands where the runtime does not look.
	Ignored Fate = "Ignored"
)

// An Origin is one place where a handler is defined.
type Origin struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Fate is this place's own.
	Fate Fate `json:"fate"`
	// Why says what took it away; empty when nothing did.
	Why string `json:"why,omitempty"`
	// By is the file and line that did.
	By *Place `json:"by,omitempty"`

	name   string
	plugin string
	// cause tells findings apart; fix is what mends it, where that is not what
	// usually does.
	cause cause
	fix   string
	// table is the whole key of the handler's table.
	table []string
	// part is set where only tables below the handler's stand in the file: the
	// first of them.
	part []string
	// doc is the file.
	doc *outline
}

// A Place is a line of a file.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// A cause is why an origin does not count.
type cause int

const (
	causeNone cause = iota
	causeNotRead
	causeWrongParent
	causeUnknownPlugin
	causeWrongPlugin // another version's name of the CRI plugin
	causeReplaced
	causeMigration
	causeVanished // the runtime has read it, and does not have it
)

// handlerKeys are keys by which a table shows that it is meant as a handler.
var handlerKeys = []string{"runtime_type", "runtime_path"}

// definitions finds the places of a file that define a handler, or are meant
// to: tables below one called runtimes, and tables with a handler's keys.
func (o *outline) definitions(file string) []Origin {
	var found []Origin
	seen := set{}
	for _, m := range o.marks {
		for _, table := range handlerTables(m) {
			// Most keys belong to the handler before them.
			if n := len(found); n > 0 && slices.Equal(found[n-1].table, table) {
				continue
			}
			key := strings.Join(table, "\x00")
			if seen[key] {
				continue
			}
			seen[key] = true
			var part []string
			if len(m.path) > len(table) {
				if header, ok := o.find(table...); ok {
					m.at = header.at
				} else if m.header {
					part = m.path
				}
			}
			d := Origin{File: file, Line: m.at.line, Column: m.at.column, name: table[len(table)-1], table: table, part: part, doc: o}
			if foldEqual(table[0], "plugins") && len(table) > 1 {
				d.plugin = table[1]
			}
			found = append(found, d)
		}
	}
	return found
}

// below are the headers of tables below the handler's own, without the one that part
// is, and keys all that is set in any of them.
func (o *Origin) below() (headers, keys []mark) {
	for _, m := range o.doc.under(o.table) {
		switch {
		case m.header && !slices.Equal(m.path, o.part):
			headers = append(headers, m)
		case !m.table:
			keys = append(keys, m)
		}
	}
	return headers, keys
}

// handlerTables returns the tables of handlers that a mark belongs to: the one
// below "runtimes", and the one that has a handler's key.
func handlerTables(m mark) [][]string {
	p := m.path
	last := len(p) - 1
	var tables [][]string
	for i := 1; i < last; i++ {
		// A key right below runtimes that is no table names no handler.
		if foldEqual(p[i], "runtimes") && (i+1 < last || m.table) {
			tables = append(tables, p[:i+2])
			break
		}
	}
	if len(tables) == 0 && isOptions(p) {
		return append(tables, p[:4])
	}
	isKey := !m.table && last > 0 && slices.ContainsFunc(handlerKeys, func(k string) bool { return foldEqual(k, p[last]) })
	if !isKey || p[last-1] == "default_runtime" || p[last-1] == "untrusted_workload_runtime" {
		return tables
	}
	if len(tables) == 0 || len(tables[0]) != last {
		tables = append(tables, p[:last])
	}
	return tables
}

// isOptions tells whether a path is of the options of a handler from whose key the
// table runtimes is left out.
func isOptions(p []string) bool {
	return len(p) > 4 && p[0] == "plugins" && p[2] == "containerd" && p[4] == "options" &&
		!slices.Contains([]string{"runtimes", "default_runtime", "untrusted_workload_runtime"}, p[3])
}

// criTable tells whether a table is where a handler belongs, below the given
// plugin or below any when it is empty.
func criTable(table []string, plugin string) bool {
	return len(table) == 5 && table[0] == "plugins" && (plugin == "" || table[1] == plugin) &&
		table[2] == "containerd" && table[3] == "runtimes"
}

// canonical writes the keys that go-toml 2 matches in any case as they are
// written usually: those of structs, not those of maps.
func canonical(table []string) []string {
	want := []string{"plugins", "", "containerd", "runtimes"}
	table = slices.Clone(table)
	for i, w := range want[:min(len(want), len(table))] {
		if w != "" && foldEqual(w, table[i]) {
			table[i] = w
		}
	}
	return table
}

// A HandlerReport is all there is to say of one handler.
type HandlerReport struct {
	Handler
	Fate    Fate
	Origins []Origin
	// Runnability is empty when the handler would not be loaded.
	Runnability
}

// fates decides for all handlers of all files.
func (l *loader) fates(r *Result, passed []*File) []HandlerReport {
	final := r.Final()
	byName := map[string]*HandlerReport{}
	report := func(name string) *HandlerReport {
		if byName[name] == nil {
			h, _ := final.Handler(name)
			h.Name = name
			byName[name] = &HandlerReport{Handler: h}
		}
		return byName[name]
	}
	for _, h := range final.Handlers {
		report(h.Name)
	}
	judge := l.judge(r)
	for _, f := range l.files {
		for _, o := range f.doc.definitionsOrNone(f.Path) {
			judge(f, &o)
			rep := report(o.name)
			rep.Origins = append(rep.Origins, o)
		}
	}
	for _, f := range passed {
		for _, o := range f.doc.definitionsOrNone(f.Path) {
			o.Fate, o.cause, o.Why = Ignored, causeNotRead, "the file is not read"
			if end := l.endsBefore(f); end != "" {
				o.Fate, o.Why = Lost, fmt.Sprintf("the runtime does not start: it reads no further than %s", end)
			}
			rep := report(o.name)
			rep.Origins = append(rep.Origins, o)
		}
	}
	var reports []HandlerReport
	for _, name := range sortedKeys(byName) {
		rep := byName[name]
		_, loaded := final.Handler(name)
		rep.Fate = l.sumUp(rep.Origins, loaded, r)
		if loaded {
			l.programs(rep)
		}
		reports = append(reports, *rep)
	}
	return reports
}

// endsBefore is the file at which the load ends before it comes to one that some file
// imports; "" if that is not why it is not read.
func (l *loader) endsBefore(f *File) string {
	if n := len(l.files); l.rt.Name == CRIO && n > 0 && l.files[n-1].Error != "" && path.Dir(f.Path) == l.crioDir() {
		return l.lastPath()
	}
	for _, read := range l.files {
		for _, imp := range read.Imports {
			if slices.Contains(imp.Matched, f.Path) {
				return l.lastPath()
			}
		}
	}
	return ""
}

func (o *outline) definitionsOrNone(file string) []Origin {
	if o == nil {
		return nil
	}
	return o.definitions(file)
}

// sumUp turns the fates of a handler's places into one.
func (l *loader) sumUp(origins []Origin, loaded bool, r *Result) Fate {
	files := set{}
	for i := range origins {
		o := &origins[i]
		if o.Fate != Loaded {
			continue
		}
		if !loaded {
			o.Fate, o.cause, o.Why = Lost, causeVanished, "the runtime does not load it"
			if r.Daemon.State == NoStart {
				o.cause, o.Why = causeNone, "the runtime does not start with these files: "+r.Daemon.Reason
			}
			continue
		}
		files[o.File] = true
	}
	switch {
	case loaded && len(files) > 1:
		for i := range origins {
			if origins[i].Fate == Loaded {
				origins[i].Fate = Merged
			}
		}
		return Merged
	case loaded:
		return Loaded
	}
	for _, fate := range []Fate{Overridden, Lost} {
		if slices.ContainsFunc(origins, func(o Origin) bool { return o.Fate == fate }) {
			return fate
		}
	}
	return Ignored
}

func (l *loader) programs(rep *HandlerReport) {
	// Most handlers of a node share their shim: each kind is looked at once.
	key := rep.Handler
	if l.rt.Name == Containerd {
		key.Name = ""
	}
	found, ok := l.probed[key]
	if !ok {
		found = l.prober().Probe(rep.Handler)
		if l.probed == nil {
			l.probed = map[Handler]Runnability{}
		}
		l.probed[key] = found
	}
	rep.Runnability = found
}

// Final is what the runtime would have: the daemon's view where it runs.
func (r *Result) Final() *CRI {
	switch {
	case r.Daemon.State == Running:
		return &r.Daemon.CRI
	case r.Daemon.State == CRIOff && r.Dump.Exit == 0:
		return &r.Dump.CRI
	}
	return &CRI{}
}
