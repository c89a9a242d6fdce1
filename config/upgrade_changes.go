package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A ChangeKind is what becomes of something.
type ChangeKind string

// The kinds of changes, the worst first.
const (
	// ChangeDaemon: the daemon no longer runs, or no longer serves Pods.
	ChangeDaemon ChangeKind = "Daemon"
	// ChangeLost: a handler is no longer loaded.
	ChangeLost ChangeKind = "Lost"
	// ChangeDefault: another handler is the default.
	ChangeDefault ChangeKind = "Default"
	// ChangeHandler: a handler is loaded otherwise.
	ChangeHandler ChangeKind = "Changed"
	// ChangeSetting: another setting of the CRI is lost or is another one.
	ChangeSetting ChangeKind = "Setting"
	// ChangeInForce: a setting that files have counts, and was ignored.
	ChangeInForce ChangeKind = "InForce"
	// ChangeGained: a handler is loaded that was not.
	ChangeGained ChangeKind = "Gained"
)

// A Change is one difference between what two versions load.
type Change struct {
	Kind    ChangeKind `json:"kind"`
	Handler string     `json:"handler,omitempty"`
	// Message is one line: what is other than it was.
	Message string `json:"message"`
}

// Loss tells whether something is lost by it.
func (c Change) Loss() bool { return c.Kind != ChangeGained && c.Kind != ChangeInForce }

// InForce tells whether it is a setting that was ignored.
func (c Change) InForce() bool { return c.Kind == ChangeInForce }

// Gained tells whether it is a handler that was not loaded.
func (c Change) Gained() bool { return c.Kind == ChangeGained }

// changes are what differs from before, the worst first; none where before
// nothing starts. Places in files are told.
func changes(before, after *Result, files []*File) []Change {
	out := []Change{}
	add := func(kind ChangeKind, handler, format string, args ...any) {
		out = append(out, Change{Kind: kind, Handler: handler, Message: fmt.Sprintf(format, args...)})
	}
	if before.Daemon.State == NoStart {
		return out
	}
	if state := after.Daemon.State; before.Daemon.State == Running && state != Running {
		says := "would not start"
		if state == CRIOff {
			says = "would start but serve no Pods"
		}
		add(ChangeDaemon, "", "%s %s: %s", after.Runtime, says, after.Daemon.Reason)
	}
	was, is := before.Final(), after.Final()
	for _, h := range was.Handlers {
		if _, ok := is.Handler(h.Name); !ok {
			add(ChangeLost, h.Name, "handler %q is not loaded%s", h.Name, whyLost(after, h.Name))
		}
	}
	if was.DefaultHandler != is.DefaultHandler && before.Daemon.State == Running && after.Daemon.State == Running {
		add(ChangeDefault, is.DefaultHandler, "the default handler is %q and was %q", is.DefaultHandler, was.DefaultHandler)
	}
	for _, h := range is.Handlers {
		_, had := was.Handler(h.Name)
		why := removedShims[h.RuntimeType]
		if h.RuntimePath != "" {
			why += "; runtime_path names a program that is to be of that shim, or left out"
		}
		if had && removedShims[h.RuntimeType] != "" && !before.Runtime.atLeast(2, 0, 0) && after.Runtime.atLeast(2, 0, 0) {
			add(ChangeHandler, h.Name, "handler %q: %s", h.Name, why)
		}
	}
	out = append(out, otherSettings(before, after)...)
	out = append(out, inForce(before, after, files)...)
	for _, h := range is.Handlers {
		if _, ok := was.Handler(h.Name); !ok && after.Daemon.State == Running {
			add(ChangeGained, h.Name, "handler %q is loaded and was not%s", h.Name, whyLost(before, h.Name))
		}
	}
	return out
}

// whyLost is what took a handler away, where that is known.
func whyLost(r *Result, name string) string {
	for _, h := range r.Handlers {
		if h.Name != name {
			continue
		}
		for _, o := range h.Origins {
			if o.Why != "" {
				return fmt.Sprintf(" (%s:%d: %s)", o.File, o.Line, o.Why)
			}
		}
	}
	return ""
}

// otherSettings are the settings that are lost, or that are other ones; of
// handlers that both have also those that are new.
func otherSettings(before, after *Result) (out []Change) {
	both := func(name string) bool {
		_, was := before.Final().Handler(name)
		_, is := after.Final().Handler(name)
		return was && is
	}
	add := func(path string, format string, args ...any) {
		name, key := handlerOf(path)
		c := Change{Kind: ChangeSetting, Handler: name, Message: key + " " + fmt.Sprintf(format, args...)}
		if name != "" {
			c.Kind, c.Message = ChangeHandler, fmt.Sprintf("handler %q: %s", name, c.Message)
		}
		out = append(out, c)
	}
	if after.Daemon.State == NoStart || after.Daemon.State == CRIOff && len(after.settings) == 0 {
		return nil // nothing is loaded at all, as is told
	}
	for _, path := range sortedKeys(before.settings) {
		name, _ := handlerOf(path)
		if name != "" && !both(name) || strings.HasSuffix(path, defaultSuffix) {
			continue
		}
		now, ok := after.settings[path]
		if !ok {
			now, ok = after.usual[path]
		}
		switch {
		case isNewShim(path, before.settings[path], now):
			// It does the same.
		case !ok && strings.HasSuffix(path, cdiSuffix) && before.settings[path] == true:
			// It is always on.
		case !ok && (after.Runtime.Version == before.Runtime.Version || after.Runtime.knows(path)):
			add(path, "is not set and was %s", quoted(path, before.settings[path]))
		case !ok:
			add(path, "was %s and is nothing to %s", quoted(path, before.settings[path]), after.Runtime)
		case !reflect.DeepEqual(now, before.settings[path]):
			add(path, "is %s and was %s", quoted(path, now), quoted(path, before.settings[path]))
		}
	}
	for _, path := range sortedKeys(after.settings) {
		name, _ := handlerOf(path)
		if _, ok := before.settings[path]; !ok && name != "" && both(name) {
			add(path, "is %s and was not set", quoted(path, after.settings[path]))
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	return out
}

// defaultSuffix ends the path of the default handler's name, which is told of by
// itself.
const defaultSuffix = pathSep + "default_runtime_name"

// cdiSuffix ends the path of what 2.4 has always on.
const cdiSuffix = pathSep + "enable_cdi"

// knows tells whether a version has a setting at all. What it always does, it
// need not know.
func (r Runtime) knows(path string) bool {
	parts := strings.Split(path, pathSep)
	shape, spans := plugin2(parts[0])
	return shape == nil || knownKey(shape, parts[1:]) && spansAllow(r, spans, parts[1:])
}

func quoted(path string, v any) string {
	if isSecret(path) {
		return "…"
	}
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}

// isSecret tells whether a setting is one of a registry's credentials, which are
// not to be printed.
func isSecret(path string) bool {
	key := path[strings.LastIndex(path, pathSep)+len(pathSep):]
	return slices.Contains([]string{"password", "auth", "identitytoken"}, key)
}
