package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config/schema"
)

// ownSettings are what the files say of plugins, as far as the runtime heeds it:
// all that is written, what is as by default or empty too, by its path in 2.x.
func (l *loader) ownSettings() map[string]any {
	out := map[string]any{}
	if f := l.merged1; f != nil {
		m := &mover{from: l.rt, to: Runtime{Name: Containerd, major: 2, minorOf: 1}, short: f.Version < 2}
		for name, tree := range f.Plugins {
			if m.short == strings.Contains(name, ".") || newerPlugin(l.rt, fullPluginName(name)) {
				continue // 1.x looks for the other form of the name, or has no such plugin
			}
			section := tree.ToMap()
			m.bare = map[string]bool{}
			for table := range embedded1 {
				m.bare[table] = section[table] == nil
			}
			leaves(out, []string{"plugins", name}, section, func(path []string) []string {
				if rest, ok := m.criPath(path); ok && !m.known1(rest) {
					return nil
				}
				return m.move(path)
			})
		}
	}
	if f := l.merged2; f != nil {
		leaves(out, []string{"plugins"}, f.Plugins, slices.Clone)
	}
	return out
}

// newerPlugin tells whether only versions after this one have a plugin.
func newerPlugin(rt Runtime, name string) bool {
	_, has := pluginTypes(rt)[name]
	_, newer := pluginTypes(Runtime{Name: Containerd, major: 2, minorOf: 4})[name]
	return newer && !has
}

// known1 tells whether the older version knows a key of the CRI plugin of 1.x.
func (m *mover) known1(rest []string) bool {
	for table, keys := range embedded1 {
		if len(rest) > 0 && m.bare[table] && keys[rest[0]] {
			rest = append([]string{table}, rest...)
			break
		}
	}
	return knownKey(reflect.TypeFor[schema.Plugin](), rest) && spansAllow(m.from, plugin1Spans, rest)
}

// leaves adds what is no table, each where move says; nil for nowhere.
func leaves(out map[string]any, path []string, v any, move func([]string) []string) {
	if table, ok := v.(map[string]any); ok {
		for key, v := range table {
			leaves(out, append(slices.Clip(path), key), v, move)
		}
		return
	}
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice {
		v = plain(list)
	}
	if path = move(path); path == nil {
		return
	}
	if path, v = placed(path[1:], v); path != nil {
		out[strings.Join(path, pathSep)] = v
	}
}

// inForce are the settings that the files have, but that the older version does
// not heed: where a later file of 1.x replaces a plugin's section, the newer one
// merges both. What is as it was, and what the newer version has by default, is
// left out; handlers are told of by themselves. The places are those in files.
func inForce(before, after *Result, files []*File) (out []Change) {
	if after.Daemon.State != Running {
		return nil
	}
	was, usual := before.Runtime.stock(), after.Runtime.stock()
	for _, path := range sortedKeys(after.own) {
		value := after.own[path]
		parts := strings.Split(path, pathSep)
		shape, _ := plugin2(parts[0])
		old, had := before.own[path]
		switch {
		case isHandler(parts), strings.HasSuffix(path, defaultSuffix), !after.Runtime.knows(path):
			continue
		case had && (shape == nil || before.settings[path] != nil):
			continue // as it was, or told as another one
		case !had:
			old = was[path]
		}
		if sameSetting(value, old) || sameSetting(value, usual[path]) {
			continue
		}
		place, why := before.unheeded(parts, after.Runtime, files)
		out = append(out, Change{Kind: ChangeInForce, Message: fmt.Sprintf("%s is %s%s: %s %s", settingName(parts), quoted(path, value), place, before.Runtime, why)})
	}
	return out
}

// unheeded is where a setting stands, and why the version ignored it.
func (r *Result) unheeded(path []string, to Runtime, files []*File) (place, why string) {
	for _, f := range slices.Backward(files) {
		m := &mover{from: r.Runtime, to: to, short: f.Version < 2}
		at, ok := f.doc.setting(func(p []string) bool { return slices.Equal(m.move(p)[1:], path) })
		if !ok {
			continue
		}
		place = fmt.Sprintf(" (%s:%d)", f.Path, at.at.line)
		if rest, ok := m.criPath(at.path); ok && r.Runtime.class() == classA && !m.known1(rest) {
			return place, "does not know it"
		}
		return place, "ignored it" + r.replacedBy(f, at.path[1])
	}
	return "", "ignored it"
}

// setting is the first key of a plugin of which is says that it is the one.
func (o *outline) setting(is func(path []string) bool) (mark, bool) {
	if o == nil {
		return mark{}, false
	}
	for _, m := range o.marks {
		if !m.table && len(m.path) > 2 && foldEqual(m.path[0], "plugins") && is(m.path) {
			return m, true
		}
	}
	return mark{}, false
}

// replacedBy says what takes the section of a plugin in a file away from 1.x.
func (r *Result) replacedBy(f *File, name string) string {
	if r.Runtime.class() != classA {
		return ""
	}
	if plugin, version := criSection1(r.Files); criPlugins[fullPluginName(name)] && name != plugin {
		return fmt.Sprintf(", since it reads %s in a version %d configuration", plugin, version)
	}
	for _, other := range slices.Backward(r.Files) {
		at, ok := other.doc.below("plugins", name)
		switch {
		case !ok:
			continue
		case other.Path == f.Path:
			return ""
		}
		return fmt.Sprintf(", since %s:%d replaces the plugin's whole section", other.Path, at.at.line)
	}
	return ""
}

// sameSetting compares values whichever library read them; empty ones are like
// none.
func sameSetting(a, b any) bool { return reflect.DeepEqual(flat(a), flat(b)) }

// flat is a value as settings are compared; nil for an empty one.
func flat(v any) any {
	r := reflect.ValueOf(v)
	switch {
	case !r.IsValid() || r.IsZero() || r.Kind() == reflect.Slice && r.Len() == 0:
		return nil
	case r.CanInt():
		return r.Int()
	}
	return v
}

// stock is what containerd has by default of what is not empty, as "containerd
// config default" prints it.
func (r Runtime) stock() map[string]any {
	stock := map[string]any{}
	set := func(v any, path ...string) { stock[strings.Join(path, pathSep)] = v }
	set(1024, runtimeCRI, "selinux_category_range")
	set(16384, runtimeCRI, "max_container_log_line_size")
	set(true, runtimeCRI, "tolerate_missing_hugetlb_controller")
	set(true, runtimeCRI, "disable_hugetlb_controller")
	set("0s", runtimeCRI, "drain_exec_sync_io_timeout")
	set(defaultBinDirs(), runtimeCRI, "cni", "bin_dirs")
	set("/etc/cni/net.d", runtimeCRI, "cni", "conf_dir")
	set(1, runtimeCRI, "cni", "max_conf_num")
	set("overlayfs", imagesCRI, "snapshotter")
	set(true, imagesCRI, "disable_snapshot_annotations")
	set(3, imagesCRI, "max_concurrent_downloads")
	set(10, imagesCRI, "stats_collect_period")
	set("node", imagesCRI, "image_decryption", "key_model")
	set(true, oldCRI, "disable_tcp_service")
	set("127.0.0.1", oldCRI, "stream_server_address")
	set("0", oldCRI, "stream_server_port")
	set("4h0m0s", oldCRI, "stream_idle_timeout")
	if r.atLeast(1, 7, 0) {
		set([]string{"/etc/cdi", "/var/run/cdi"}, runtimeCRI, "cdi_spec_dirs")
		set("5m0s", imagesCRI, "image_pull_progress_timeout")
	}
	if r.class() == classA {
		pause := "registry.k8s.io/pause:3.8"
		if !r.atLeast(1, 7, 0) {
			pause = "registry.k8s.io/pause:3.6"
		}
		set(pause, imagesCRI, "pinned_images", "sandbox")
		return stock
	}
	set(true, runtimeCRI, "enable_unprivileged_ports")
	set(true, runtimeCRI, "enable_unprivileged_icmp")
	set(true, runtimeCRI, "enable_cdi")
	set(true, runtimeCRI, "enable_criu")
	return stock
}
