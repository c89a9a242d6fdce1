package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runtimegate/runtimegate/config/schema"
)

// A DumpAnswer is what the runtime's own dump of its configuration answers:
// "containerd config dump", or "crio config".
type DumpAnswer struct {
	// Exit is the exit code: 0, 1, or 2 for a crash.
	Exit int
	// Error is what it says then.
	Error string
	// Unreadable tells that the dump is not valid TOML: containerd 1.x writes
	// an empty key without quotes.
	Unreadable bool
	// CRI is what the dump shows; empty when the CRI plugin is not in it.
	CRI CRI
}

// A DaemonState is how far a daemon comes with a configuration.
type DaemonState string

// The daemon's states.
const (
	// Running: the daemon runs and serves the CRI.
	Running DaemonState = "Running"
	// CRIOff: the daemon runs, but its CRI plugin failed or is disabled: no
	// Pod of the node can start.
	CRIOff DaemonState = "CRIOff"
	// NoStart: the daemon exits.
	NoStart DaemonState = "NoStart"
)

// A DaemonAnswer is what a daemon started with these files has.
type DaemonAnswer struct {
	State DaemonState
	// Reason says why the state is not Running.
	Reason string
	// CRI is what it has loaded; empty unless Running.
	CRI CRI
}

func (a *DumpAnswer) fail(err error) {
	a.Exit = 1
	var failure *loadFailure
	if errors.As(err, &failure) {
		a.Exit = failure.exit
	}
	a.Error = err.Error()
}

// noStart is noStart; what it was is kept for the findings.
func (l *loader) noStart(err error) DaemonAnswer {
	l.stops = err
	return noStart(err)
}

func noStart(err error) DaemonAnswer { return DaemonAnswer{State: NoStart, Reason: err.Error()} }

func criOff(format string, args ...any) DaemonAnswer {
	return DaemonAnswer{State: CRIOff, Reason: fmt.Sprintf(format, args...)}
}

// checkTop finds what keeps the daemon, though not the dump, from starting.
func checkTop[P any](f *schema.File[P]) error {
	switch {
	case f.Root == f.State:
		return errors.New("root and state must be different paths")
	case f.Debug.Level != "" && !slices.Contains(logLevels, strings.ToLower(f.Debug.Level)):
		return fmt.Errorf("not a valid log level: %q", f.Debug.Level)
	case f.Debug.Format != "" && f.Debug.Format != "text" && f.Debug.Format != "json":
		return fmt.Errorf("unknown log format: %s", f.Debug.Format)
	}
	for _, v := range f.Timeouts {
		if _, err := time.ParseDuration(v); err != nil {
			return fmt.Errorf("unable to parse %s into a time duration", v)
		}
	}
	return nil
}

var logLevels = []string{"trace", "debug", "info", "warn", "warning", "error", "fatal", "panic"}

// answer1 gives the answers of containerd 1.x.
func (l *loader) answer1(out *file1, err error) (dump DumpAnswer, daemon DaemonAnswer) {
	if err == nil {
		err = checkProxies(l.rt, out.ProxyPlugins)
	}
	disabled := slices.Contains(out.DisabledPlugins, criName1(out.Version))
	var p *schema.Plugin
	if err == nil && !disabled {
		p, err = decodePlugin1(l.rt, out)
	}
	if err == nil {
		err = checkOthers(pluginTypes(l.rt), sortedKeys(out.Plugins), out.DisabledPlugins, pluginID(out.Version),
			func(section string, v any) (err error) {
				defer catch(&err)
				tree := out.Plugins[section]
				return tree.Unmarshal(v)
			})
	}
	if err != nil {
		dump.fail(err)
		return dump, l.noStart(err)
	}
	if p != nil {
		if dump.Unreadable = hasEmptyKey(p); !dump.Unreadable {
			dump.CRI = cri1(l.rt, p)
		}
	}
	if err := checkTop(out); err != nil {
		return dump, l.noStart(err)
	}
	if disabled {
		daemon = criOff("disabled_plugins names %s", criName1(out.Version))
	} else if err := l.validate1(out, p); err != nil {
		daemon = criOff("%v", err)
	} else {
		daemon = DaemonAnswer{State: Running, CRI: cri1(l.rt, p)}
	}
	l.plugin1 = p
	return dump, required(l.rt, daemon, out, pluginID(out.Version))
}

// hasEmptyKey looks for a key that containerd 1.x can't write.
func hasEmptyKey(p *schema.Plugin) bool {
	for name, r := range p.Runtimes {
		if _, ok := r.Options[""]; ok || name == "" {
			return true
		}
	}
	return false
}

// unlikely are plugins that are built in but skip themselves on a usual host:
// they need a file system or a setting of their own.
var unlikely = keySet(
	"io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.btrfs",
	"io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
)

// required applies required_plugins: without one of them the daemon exits. id
// is how the files name a plugin.
func required[P any](rt Runtime, d DaemonAnswer, f *schema.File[P], id func(string) string) DaemonAnswer {
	there := set{}
	for name := range pluginTypes(rt) {
		there[id(name)] = !unlikely[name]
	}
	for name, p := range f.ProxyPlugins {
		kind := p.Type
		if full, ok := proxyKinds[kind]; ok {
			kind = full
		}
		there[id(kind+"."+name)] = true
	}
	for _, name := range f.DisabledPlugins {
		there[name] = false
	}
	for _, name := range f.RequiredPlugins {
		switch {
		case name == id(oldCRI) && d.State == CRIOff:
			return noStart(fmt.Errorf("required plugin %s does not come up: %s", name, d.Reason))
		case !there[name]:
			return noStart(fmt.Errorf("required plugin [%s] not included", name))
		}
	}
	return d
}

// proxyKinds are the short names of the types of proxy plugins.
var proxyKinds = map[string]string{
	"snapshot": "io.containerd.snapshotter.v1", "content": "io.containerd.content.v1",
	"sandbox": "io.containerd.sandbox.controller.v1", "diff": "io.containerd.differ.v1",
}

func cri1(rt Runtime, p *schema.Plugin) CRI {
	c := CRI{Handlers: handlers(p.Runtimes), DefaultHandler: p.DefaultRuntimeName, Settings: settingsOf(rt, p.Runtimes)}
	if rt.atLeast(1, 7, 0) {
		c.CDI = ptr(p.EnableCDI)
	}
	return c
}

func handlers(runtimes map[string]schema.Runtime) []Handler {
	var c CRI
	for name, r := range runtimes {
		h := Handler{Name: name, RuntimeType: r.Type, RuntimePath: r.Path}
		h.BinaryName, _ = r.Options["BinaryName"].(string)
		c.Handlers = append(c.Handlers, h)
	}
	c.Sort()
	return c.Handlers
}

// answer2 gives the answers of containerd 2.x.
func (l *loader) answer2(out *file2, err error) (dump DumpAnswer, daemon DaemonAnswer, p plugins2) {
	dumped := out
	if l.rt.class() == classB && !l.rt.dumpMigrates() {
		copied := *out
		copied.Plugins = cloneTable(out.Plugins)
		dumped = &copied
	}
	dumpErr := err
	if l.partial {
		dumpErr = nil
	}
	resolve := func(f *file2, err error) (plugins2, error) {
		if err == nil && l.rt.class() == classB && (f == out || l.rt.dumpMigrates()) {
			if err = migrateMerged(l.rt, f); err != nil {
				err = crash(err)
			}
		}
		if err == nil {
			err = checkProxies(l.rt, f.ProxyPlugins)
		}
		if err != nil {
			return plugins2{}, err
		}
		return decodePlugins2(l.rt, f)
	}
	p, dumpErr = resolve(dumped, dumpErr)
	if dumpErr != nil {
		dump.fail(dumpErr)
	} else {
		dump.CRI = dumpCRI2(l.rt, dumped, p)
	}
	switch {
	case err != nil:
		return dump, l.noStart(err), p
	case dumped != out:
		p, err = resolve(out, err)
	default:
		err = dumpErr
	}
	if err == nil {
		err = checkTop(out)
	}
	if err != nil {
		return dump, l.noStart(err), p
	}
	return dump, l.daemon2(out, p), p
}

// dumpCRI2 is what a dump shows of the CRI: of a disabled plugin its raw
// section, when the files have one.
func dumpCRI2(rt Runtime, out *file2, p plugins2) CRI {
	if p.runtime != nil {
		return cri2(rt, p.runtime)
	}
	var c CRI
	for _, name := range []string{runtimeCRI, oldCRI} {
		section, ok := out.Plugins[name].(map[string]any)
		if !ok || name == oldCRI && p.server != nil {
			continue
		}
		containerd := tableOr(section, "containerd")
		c.DefaultHandler, _ = containerd["default_runtime_name"].(string)
		for name, v := range tableOr(containerd, "runtimes") {
			r, _ := v.(map[string]any)
			h := Handler{Name: name}
			h.RuntimeType, _ = r["runtime_type"].(string)
			h.RuntimePath, _ = r["runtime_path"].(string)
			h.BinaryName, _ = tableOr(r, "options")["BinaryName"].(string)
			c.Handlers = append(c.Handlers, h)
		}
		c.Sort()
		break
	}
	return c
}

func cri2(rt Runtime, p *schema.RuntimePlugin) CRI {
	c := CRI{Handlers: handlers(p.Runtimes), DefaultHandler: p.DefaultRuntimeName, CDI: p.EnableCDI, Settings: settingsOf(rt, p.Runtimes)}
	if rt.atLeast(2, 4, 0) {
		c.CDI = ptr(true)
	}
	return c
}
