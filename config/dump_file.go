package config

import "fmt"

// runcHandler is built into every containerd (1.6 to 2.4) and the default.
var runcHandler = Handler{Name: "runc", RuntimeType: "io.containerd.runc.v2"}

// fromFile takes the handlers of a config file that is not a dump. Which of
// them containerd loads can depend on its version, which the file does not
// tell; those handlers are in doubt.
func (d *Dump) fromFile(s dumpSections) {
	d.Handlers = sortedHandlers(s.new, s.old)
	d.setDefault(s)
	if d.DefaultHandler == "" && (s.new == nil || s.new.dflt == nil) && (s.old == nil || s.old.dflt == nil) {
		d.DefaultHandler = runcHandler.Name
	}
	switch {
	case d.Version <= 2:
		d.doubtExtra(s)
		d.doubtNewNames(s)
	case d.Version == 3:
		for _, name := range s.oldOnly() {
			if name != runcHandler.Name { // built in
				d.doubt(s.old, name, "stands under the old plugin name, which containerd 2.0 to 2.2 does not read in a version 3 file; move it to "+pluginCRIRuntime)
			}
		}
	default:
		d.dropOldNames(s)
	}
	d.addBuiltin(s)
}

func (d *Dump) doubt(s *dumpSection, name, why string) {
	at := s.places[name]
	d.doubts[name] = fmt.Sprintf("%s:%d:%d: handler %q %s", d.Name, at.line, at.column, name, why)
}

// doubtExtra: containerd 1.x makes handlers of two deprecated tables, 2.x not.
func (d *Dump) doubtExtra(s dumpSections) {
	if s.old == nil {
		return
	}
	for _, h := range s.old.extra {
		if _, ok := d.Handler(h.Name); !ok {
			d.doubts[h.Name] = fmt.Sprintf("%s:%d: handler %q comes from a deprecated table that containerd 1.x makes a handler of and 2.x ignores", d.Name, s.old.at.line, h.Name)
		}
	}
}

// doubtNewNames: in a file of version 2 the new name is read by containerd 2.x
// only.
func (d *Dump) doubtNewNames(s dumpSections) {
	if s.new == nil {
		return
	}
	for name := range s.new.handlers {
		if s.old != nil {
			if _, both := s.old.handlers[name]; both {
				continue
			}
		}
		if name == runcHandler.Name && (s.old == nil || !s.old.tables) {
			continue // built in
		}
		d.doubt(s.new, name, "stands under a plugin name that containerd 1.x does not read")
	}
}

// dropOldNames: containerd reads the old name in no file of version 4.
func (d *Dump) dropOldNames(s dumpSections) {
	lost := s.oldOnly()
	if len(lost) == 0 {
		return
	}
	d.Handlers = sortedHandlers(s.new)
	for _, name := range lost {
		if name == runcHandler.Name {
			continue // built in
		}
		at := s.old.places[name]
		d.note("%s:%d:%d: handler %q stands under the old plugin name, which containerd ignores in a version %d file; move it to %s", d.Name, at.line, at.column, name, d.Version, pluginCRIRuntime)
	}
}

// addBuiltin adds the built-in handler where the file leaves it standing:
// always with containerd 2.x, on 1.x unless the file has a table of its own.
func (d *Dump) addBuiltin(s dumpSections) {
	if _, ok := d.Handler(runcHandler.Name); ok || d.State != CRIOn {
		return
	}
	if d.Version <= 2 && s.old != nil && s.old.tables {
		d.doubts[runcHandler.Name] = fmt.Sprintf("%s:%d: the table of handlers does not define the built-in handler \"runc\": containerd 2.x keeps it, 1.x drops it", d.Name, s.old.at.line)
		return
	}
	d.Handlers = append(d.Handlers, runcHandler)
	d.Sort()
}
