package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/runtimegate/runtimegate/config/schema"
)

// decodePlugin2 decodes a plugin's section over its defaults as containerd 2.x
// does: written out as TOML again, and read back. defaults makes a pointer to
// them.
func decodePlugin2(rt Runtime, plugins map[string]any, name string, spans []span, defaults func() any) (v any, err error) {
	v = defaults()
	data, ok := plugins[name]
	if !ok {
		return v, nil
	}
	defer catch(&err)
	if table, ok := data.(map[string]any); ok {
		table = cloneTable(table)
		pruneTable(rt, table, spans)
		data = table
	}
	text, err := toml.Marshal(data)
	if err != nil {
		return nil, fail("%w", err)
	}
	err = toml.Unmarshal(text, v)
	if err != nil && rt.hasOldTOML() {
		// Nothing that the newer library takes here is more to the older one.
		if text, err = oldText(text, reflect.TypeOf(v).Elem()); err == nil {
			v = defaults()
			err = toml.Unmarshal(text, v)
		}
	}
	if err != nil {
		return nil, failPlain(crashOnDate(rt, err))
	}
	if rt.hasOldTOML() && name == runtimeCRI {
		err = crashOnSecondReading(rt, plugins[name])
	}
	return v, err
}

func failPlain(err error) error {
	var failure *loadFailure
	if errors.As(err, &failure) {
		return err
	}
	return fail("%w", err)
}

func ptr[T any](v T) *T { return &v }

func defaultRuntimePlugin(rt Runtime) *schema.RuntimePlugin {
	p := &schema.RuntimePlugin{}
	p.DefaultRuntimeName = "runc"
	p.Runtimes = map[string]schema.Runtime{"runc": {Type: runcV2, Sandboxer: "podsandbox", Options: map[string]any{"BinaryName": ""}}}
	if rt.atLeast(2, 1, 0) {
		p.BinDirs = defaultBinDirs()
	}
	p.EnableCDI = ptr(true)
	p.DrainExecSyncIOTimeout = "0s"
	return p
}

func defaultBinDirs() []string { return []string{"/opt/cni/bin"} }

func defaultImagePlugin() *schema.ImagePlugin {
	return &schema.ImagePlugin{Snapshotter: "overlayfs", ImagePullProgressTimeout: "5m0s"}
}

func defaultServerPlugin() *schema.ServerPlugin {
	return &schema.ServerPlugin{StreamIdleTimeout: "4h0m0s"}
}

// plugins2 are the decoded sections of the CRI plugins of 2.x; nil for one
// that is disabled.
type plugins2 struct {
	runtime *schema.RuntimePlugin
	images  *schema.ImagePlugin
	server  *schema.ServerPlugin
}

func decodePlugins2(rt Runtime, out *file2) (p plugins2, err error) {
	disabled := keySet(out.DisabledPlugins...)
	err = checkOthers(pluginTypes(rt), sortedKeys(out.Plugins), out.DisabledPlugins, func(name string) string { return name },
		func(section string, v any) error {
			_, err := decodePlugin2(rt, out.Plugins, section, nil, func() any { return reflect.New(reflect.TypeOf(v).Elem()).Interface() })
			return err
		})
	if err != nil {
		return p, err
	}
	if !disabled[runtimeCRI] {
		v, err := decodePlugin2(rt, out.Plugins, runtimeCRI, runtime2Spans, func() any { return defaultRuntimePlugin(rt) })
		if err != nil {
			return p, err
		}
		p.runtime = v.(*schema.RuntimePlugin)
	}
	if !disabled[imagesCRI] {
		v, err := decodePlugin2(rt, out.Plugins, imagesCRI, images2Spans, func() any { return defaultImagePlugin() })
		if err != nil {
			return p, err
		}
		p.images = v.(*schema.ImagePlugin)
	}
	if !disabled[oldCRI] {
		v, err := decodePlugin2(rt, out.Plugins, oldCRI, nil, func() any { return defaultServerPlugin() })
		if err != nil {
			return p, err
		}
		p.server = v.(*schema.ServerPlugin)
	}
	return p, nil
}

// proxyTypes are the kinds of proxy plugins; containerd crashes on others.
var proxyTypes = map[string][2]int{
	"snapshot": {1, 6}, "io.containerd.snapshotter.v1": {1, 6},
	"content": {1, 6}, "io.containerd.content.v1": {1, 6},
	"sandbox": {2, 0}, "io.containerd.sandbox.controller.v1": {2, 0},
	"diff": {1, 6}, "io.containerd.differ.v1": {1, 6},
}

// checkProxies finds what makes containerd crash when it registers plugins.
func checkProxies(rt Runtime, proxies map[string]schema.ProxyPlugin) error {
	for name, p := range proxies {
		since, ok := proxyTypes[p.Type]
		if !ok || !rt.atLeast(since[0], since[1], 0) {
			return crash(fmt.Errorf("containerd crashes (a Go panic): proxy_plugins.%s has the unknown type %q", name, p.Type))
		}
		if name == "" {
			return crash(errors.New("containerd crashes (a Go panic): proxy_plugins has an entry with an empty name"))
		}
		if strings.HasPrefix(p.Type, "snapshot") || p.Type == "io.containerd.snapshotter.v1" {
			if builtinSnapshotters[name] {
				return crash(fmt.Errorf("containerd crashes (a Go panic): proxy_plugins.%s has the name of a built-in snapshotter", name))
			}
		}
	}
	return nil
}

// builtinSnapshotters are those of a usual build of containerd.
var builtinSnapshotters = map[string]bool{
	"overlayfs": true, "native": true, "btrfs": true, "devmapper": true, "zfs": true, "aufs": true, "blockfile": true, "erofs": true,
}
