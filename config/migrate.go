package config

import (
	"errors"
	"slices"
	"strings"
)

// errCrash stands for a panic of containerd: it exits with 2, as daemon too.
var errCrash = errors.New("containerd crashes (a Go panic) while it migrates this configuration")

// corePlugins are the plugins that version 1 files knew by a short name.
var corePlugins = map[string]string{
	"cri":       oldCRI,
	"cgroups":   "io.containerd.monitor.v1.cgroups",
	"linux":     "io.containerd.runtime.v1.linux",
	"scheduler": "io.containerd.gc.v1.scheduler",
	"bolt":      "io.containerd.metadata.v1.bolt",
	"task":      "io.containerd.runtime.v2.task",
	"opt":       "io.containerd.internal.v1.opt",
	"restart":   "io.containerd.internal.v1.restart",
	"tracing":   "io.containerd.internal.v1.tracing",
	"otlp":      "io.containerd.tracing.processor.v1.otlp",
}

// snapshotters are the snapshotter plugins of version 1 files.
var snapshotters = map[string]bool{
	"aufs": true, "btrfs": true, "devmapper": true, "native": true, "overlayfs": true,
	"zfs": true, "windows": true, "windows-lcow": true,
}

// fullPluginName is the name that containerd 2.x gives to a plugin named in a
// file of version 0 or 1. Any name with a dot counts as a full one.
func fullPluginName(name string) string {
	switch {
	case strings.Contains(name, "."):
		return name
	case corePlugins[name] != "":
		return corePlugins[name]
	case snapshotters[name]:
		return "io.containerd.snapshotter.v1." + name
	case strings.HasSuffix(name, "-service"):
		return "io.containerd.service.v1." + name
	}
	return "io.containerd.grpc.v1." + name
}

// renamePlugins does to a file what the step from config version 1 to 2 does.
// When a file has two names for one plugin, containerd takes the one that comes
// last in the order of a Go map: either, by chance. Here it is the later one of
// the file, which in a map of up to 8 names has the better odds (7 in 8 when
// the two are neighbours). order is that of the file.
func renamePlugins(f *file2, order []string) {
	plugins := make(map[string]any, len(f.Plugins))
	for _, name := range append(sortedKeys(f.Plugins), order...) {
		if v, ok := f.Plugins[name]; ok {
			plugins[fullPluginName(name)] = v
		}
	}
	f.Plugins = plugins
	for _, list := range [][]string{f.DisabledPlugins, f.RequiredPlugins} {
		for i, name := range list {
			list[i] = fullPluginName(name)
		}
	}
}

// migrateTo raises a file's version step by step. Only the step from 1 to 2
// does something that matters to the CRI plugin. A version that containerd has
// no steps for crashes it.
func migrateTo(f *file2, target, newest int, order []string) error {
	for f.Version < target {
		if f.Version < 0 || f.Version >= newest {
			return errCrash
		}
		if f.Version == 1 {
			renamePlugins(f, order)
		}
		f.Version++
	}
	return nil
}

// What of the old plugin's section goes where.
var (
	imageKeys = []string{
		"registry", "image_decryption", "max_concurrent_downloads",
		"image_pull_progress_timeout", "image_pull_with_sync_fs", "stats_collect_period",
	}
	imageContainerdKeys = []string{"snapshotter", "disable_snapshot_annotations", "discard_unpacked_layers"}
	serverKeys          = []string{
		"disable_tcp_service", "stream_server_address", "stream_server_port",
		"stream_idle_timeout", "enable_tls_streaming", "x509_key_pair_streaming",
	}
)

var notRuntimeKeys = keySet(append(append([]string{"containerd", "sandbox_image"}, imageKeys...), serverKeys...)...)

func keySet(keys ...string) map[string]bool {
	set := make(map[string]bool, len(keys))
	for _, k := range keys {
		set[k] = true
	}
	return set
}

// migratePlugins runs the CRI plugins' migrations of containerd 2.x from the
// old plugin name to the new ones, those of the plugins that are not disabled.
func migratePlugins(rt Runtime, plugins map[string]any, disabled map[string]bool) error {
	if plugins == nil {
		return nil
	}
	if err := migrateOthers(plugins, disabled); err != nil {
		return err
	}
	if !disabled[runtimeCRI] {
		if err := migrateRuntime(rt, plugins); err != nil {
			return err
		}
	}
	if !disabled[imagesCRI] {
		if err := migrateImages(plugins); err != nil {
			return err
		}
	}
	if src, ok := plugins[oldCRI].(map[string]any); ok && !disabled[oldCRI] {
		server := map[string]any{}
		copyKeys(server, src, serverKeys)
		plugins[oldCRI] = server
	}
	return nil
}

// migrateOthers moves the sections of plugins that have new names in 2.x.
func migrateOthers(plugins map[string]any, disabled map[string]bool) error {
	const shim, task = "io.containerd.shim.v1.manager", "io.containerd.runtime.v2.task"
	if v, ok := plugins[task]; ok && !disabled[shim] {
		section, ok := v.(map[string]any)
		if !ok {
			return errCrash
		}
		delete(section, "sched_core")
		plugins[shim] = map[string]any{}
	}
	for old, now := range map[string]string{
		"io.containerd.monitor.v1.cgroups":  "io.containerd.monitor.task.v1.cgroups",
		"io.containerd.internal.v1.restart": "io.containerd.monitor.container.v1.restart",
	} {
		if v, ok := plugins[old]; ok && !disabled[now] {
			plugins[now] = v
			delete(plugins, old)
		}
	}
	return nil
}

func isTable(v any) bool { _, ok := v.(map[string]any); return ok }

func copyKeys(dst, src map[string]any, keys []string) {
	for _, k := range keys {
		if v, ok := src[k]; ok {
			dst[k] = v
		}
	}
}

func copyAbsent(dst, src map[string]any, skip func(key string) bool) {
	for k, v := range src {
		if _, ok := dst[k]; !ok && !skip(k) {
			dst[k] = v
		}
	}
}

// tableOr returns the table at key, or a new one.
func tableOr(m map[string]any, key string) map[string]any {
	if t, ok := m[key].(map[string]any); ok {
		return t
	}
	return map[string]any{}
}

// migrateRuntime never overwrites a key that is there, one level down in
// "containerd" and "cni" only: so the table "runtimes" moves whole or not.
func migrateRuntime(rt Runtime, plugins map[string]any) error {
	src, ok := plugins[oldCRI].(map[string]any)
	if !ok {
		return nil
	}
	dst := tableOr(plugins, runtimeCRI)
	plugins[runtimeCRI] = dst
	ownCNI := rt.atLeast(2, 1, 0)
	copyAbsent(dst, src, func(k string) bool {
		return notRuntimeKeys[k] || (ownCNI && k == "cni") || (k == "enable_cdi" && rt.atLeast(2, 4, 0))
	})
	if cni, ok := src["cni"].(map[string]any); ok && ownCNI {
		if err := migrateCNI(dst, cni); err != nil {
			return err
		}
	}
	old, ok := src["containerd"].(map[string]any)
	if !ok {
		return nil
	}
	containerd := tableOr(dst, "containerd")
	dst["containerd"] = containerd
	copyAbsent(containerd, old, func(k string) bool { return slices.Contains(imageContainerdKeys, k) })
	return migrateHandlers(containerd)
}

func migrateCNI(dst, old map[string]any) error {
	cni := tableOr(dst, "cni")
	dst["cni"] = cni
	copyAbsent(cni, old, func(k string) bool { return k == "bin_dir" })
	if v, ok := old["bin_dir"]; ok {
		s, ok := v.(string)
		if !ok {
			return errCrash
		}
		// An array of a file is never the []string that containerd asks for
		// here: what the file said of bin_dirs is lost.
		cni["bin_dirs"] = []string{s}
	}
	return nil
}

// migrateHandlers turns sandbox_mode into sandboxer. A runtimes or a handler
// that is no table crashes containerd here.
func migrateHandlers(containerd map[string]any) error {
	v, ok := containerd["runtimes"]
	if !ok {
		return nil
	}
	handlers, ok := v.(map[string]any)
	if !ok {
		return errCrash
	}
	for _, v := range handlers {
		h, ok := v.(map[string]any)
		if !ok {
			return errCrash
		}
		mode, ok := h["sandbox_mode"]
		if _, has := h["sandboxer"]; ok && !has {
			h["sandboxer"] = mode
			delete(h, "sandbox_mode")
		}
	}
	return nil
}

func migrateImages(plugins map[string]any) error {
	v, ok := plugins[oldCRI]
	if !ok {
		return nil
	}
	src, ok := v.(map[string]any)
	if !ok {
		return errCrash
	}
	dst, ok := plugins[imagesCRI].(map[string]any)
	if _, has := plugins[imagesCRI]; has && !ok {
		return errCrash
	} else if !has {
		dst = map[string]any{}
	}
	if v, ok := dst["pinned_images"]; ok && !isTable(v) {
		return errCrash
	}
	if image, ok := src["sandbox_image"]; ok {
		pinned := tableOr(dst, "pinned_images")
		pinned["sandbox"] = image
		dst["pinned_images"] = pinned
	}
	copyKeys(dst, src, imageKeys)
	plugins[imagesCRI] = dst
	return migrateImagesContainerd(dst, src)
}

func migrateImagesContainerd(dst, src map[string]any) error {
	v, ok := src["containerd"]
	if !ok {
		return nil
	}
	containerd, ok := v.(map[string]any)
	if !ok {
		return errCrash
	}
	// Without a table runtimes the rest is left out: so containerd has it.
	v, ok = containerd["runtimes"]
	if !ok {
		return nil
	}
	if v, ok := dst["runtime_platform"]; ok && !isTable(v) {
		return errCrash
	}
	handlers, ok := v.(map[string]any)
	if !ok {
		return errCrash
	}
	for _, h := range handlers {
		if !isTable(h) {
			return errCrash
		}
	}
	copyKeys(dst, containerd, imageContainerdKeys)
	return nil
}
