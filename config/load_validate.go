package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"time"

	"github.com/runtimegate/runtimegate/config/schema"
)

// validate1 says why the CRI plugin of containerd 1.x does not come up. It
// adds the handlers that default_runtime and untrusted_workload_runtime stand
// for: the daemon has them, the dump does not.
func (l *loader) validate1(out *file1, p *schema.Plugin) error {
	if err := legacyHandlers1(p); err != nil {
		return err
	}
	def, ok := p.Runtimes[p.DefaultRuntimeName]
	switch {
	case p.DefaultRuntimeName == "":
		return errors.New("default_runtime_name is empty")
	case !ok:
		return fmt.Errorf("default_runtime_name = %q names a handler that is not defined", p.DefaultRuntimeName)
	case p.SystemdCgroup && def.Type != linuxV1:
		return fmt.Errorf("systemd_cgroup only works for runtime type %s", linuxV1)
	case p.NoPivot && def.Type != linuxV1:
		return fmt.Errorf("no_pivot only works for runtime type %s", linuxV1)
	}
	for _, name := range sortedKeys(p.Runtimes) {
		r := p.Runtimes[name]
		switch {
		case r.Engine != "" && r.Type != linuxV1:
			return fmt.Errorf("handler %q: runtime_engine only works for runtime type %s", name, linuxV1)
		case r.Root != "" && r.Type != linuxV1:
			return fmt.Errorf("handler %q: runtime_root only works for runtime type %s", name, linuxV1)
		case r.AllDevicesAllowed && !r.WithoutHostDevices:
			return allDevicesError(name)
		}
	}
	if err := validateRegistry1(&p.Registry); err != nil {
		return err
	}
	if err := durations(map[string]string{
		"stream_idle_timeout": p.StreamIdleTimeout, "image_pull_progress_timeout": p.ImagePullProgressTimeout,
		"drain_exec_sync_io_timeout": p.DrainExecSyncIOTimeout,
	}); err != nil {
		return err
	}
	if err := l.needs(out.DisabledPlugins, services1); err != nil {
		return err
	}
	if err := snapshotter(p.Snapshotter, out.ProxyPlugins, out.DisabledPlugins); err != nil {
		return err
	}
	if err := streaming(p.EnableTLSStreaming, p.KeyPair); err != nil {
		return err
	}
	return l.baseSpecs(p.Runtimes)
}

func legacyHandlers1(p *schema.Plugin) error {
	if p.Runtimes == nil {
		p.Runtimes = map[string]schema.Runtime{}
	}
	if p.UntrustedWorkloadRuntime.Type != "" {
		if _, ok := p.Runtimes["untrusted"]; ok {
			return errors.New(`both untrusted_workload_runtime and runtimes.untrusted are set`)
		}
		p.Runtimes["untrusted"] = p.UntrustedWorkloadRuntime
	}
	if p.DefaultRuntime.Type != "" {
		p.DefaultRuntimeName = "default"
		p.Runtimes["default"] = p.DefaultRuntime
	}
	return nil
}

func allDevicesError(name string) error {
	return fmt.Errorf("handler %q: privileged_without_host_devices_all_devices_allowed needs privileged_without_host_devices", name)
}

func validateRegistry1(r *schema.Registry) error {
	if r.ConfigPath != "" {
		for _, c := range r.Configs {
			if c.TLS != nil {
				return errors.New("registry.configs tls and registry.config_path are both set")
			}
		}
	}
	return validateRegistry(r, r.ConfigPath)
}

func validateRegistry(r *schema.Registry, configPath string) error {
	if len(r.Mirrors) > 0 && configPath != "" {
		return errors.New("registry.mirrors and registry.config_path are both set")
	}
	for _, endpoint := range sortedKeys(r.Auths) {
		if _, err := url.Parse(endpoint); err != nil {
			return fmt.Errorf("registry.auths: %w", err)
		}
	}
	return nil
}

func durations(values map[string]string) error {
	for _, key := range sortedKeys(values) {
		if v := values[key]; v != "" {
			if _, err := time.ParseDuration(v); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return nil
}

func streaming(enabled bool, pair schema.KeyPair) error {
	set := pair.CertFile != "" || pair.KeyFile != ""
	switch {
	case set && !enabled:
		return errors.New("x509_key_pair_streaming is set but enable_tls_streaming is not")
	case set && (pair.CertFile == "" || pair.KeyFile == ""):
		return errors.New("x509_key_pair_streaming needs both tls_cert_file and tls_key_file")
	}
	return nil
}

func snapshotter(name string, proxies map[string]schema.ProxyPlugin, disabled []string) error {
	_, proxy := proxies[name]
	if !proxy && !builtinSnapshotters[name] || slices.Contains(disabled, "io.containerd.snapshotter.v1."+name) {
		return fmt.Errorf("snapshotter %q is not there", name)
	}
	return nil
}

// baseSpecs checks the files that handlers' specs start from.
func (l *loader) baseSpecs(runtimes map[string]schema.Runtime) error {
	for _, name := range sortedKeys(runtimes) {
		file := runtimes[name].BaseRuntimeSpec
		if file == "" {
			continue
		}
		data, err := l.fs.ReadFile(l.absolute(file))
		if err != nil {
			return fmt.Errorf("handler %q: base_runtime_spec: %w", name, err)
		}
		var spec struct{}
		if err := json.Unmarshal(data, &spec); err != nil {
			return fmt.Errorf("handler %q: base_runtime_spec %s: %w", name, file, err)
		}
	}
	return nil
}

// The plugins without which the CRI plugin does not come up.
var (
	services1 = []string{
		"io.containerd.metadata.v1.bolt", "io.containerd.content.v1.content", "io.containerd.event.v1.exchange",
		"io.containerd.service.v1.tasks-service", "io.containerd.service.v1.snapshots-service",
		"io.containerd.service.v1.namespaces-service", "io.containerd.service.v1.leases-service",
		"io.containerd.service.v1.introspection-service", "io.containerd.service.v1.images-service",
		"io.containerd.service.v1.diff-service", "io.containerd.service.v1.content-service",
		"io.containerd.service.v1.containers-service",
	}
	services2 = append([]string{
		"io.containerd.warning.v1.deprecations", "io.containerd.sandbox.store.v1.local",
		"io.containerd.podsandbox.controller.v1.podsandbox", "io.containerd.lease.v1.manager",
		"io.containerd.shim.v1.manager",
	}, services1...)
)

func (l *loader) needs(disabled, needed []string) error {
	for _, name := range disabled {
		if slices.Contains(needed, name) {
			return fmt.Errorf("disabled_plugins names %s, which the CRI plugin needs", name)
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// daemon2 says how far a daemon of 2.x comes with decoded plugins.
func (l *loader) daemon2(out *file2, p plugins2) DaemonAnswer {
	var d DaemonAnswer
	switch err := l.validate2(out, p); {
	case p.server == nil:
		d = criOff("disabled_plugins names %s", oldCRI)
	case p.runtime == nil:
		d = criOff("disabled_plugins names %s", runtimeCRI)
	case p.images == nil:
		d = criOff("disabled_plugins names %s", imagesCRI)
	case err != nil:
		d = criOff("%v", err)
	default:
		d = DaemonAnswer{State: Running, CRI: cri2(l.rt, p.runtime)}
	}
	return required(l.rt, d, out, func(name string) string { return name })
}

func (l *loader) validate2(out *file2, p plugins2) error {
	if p.server == nil || p.runtime == nil || p.images == nil {
		return nil
	}
	r := p.runtime
	if r.DefaultRuntimeName == "" {
		return errors.New("default_runtime_name is empty")
	}
	if _, ok := r.Runtimes[r.DefaultRuntimeName]; !ok {
		return fmt.Errorf("default_runtime_name = %q names a handler that is not defined", r.DefaultRuntimeName)
	}
	if r.BinDir != "" && len(r.BinDirs) > 0 && !slices.Equal(r.BinDirs, defaultBinDirs()) {
		return errors.New("cni.bin_dir and cni.bin_dirs are both set")
	}
	for _, name := range sortedKeys(r.Runtimes) {
		h := r.Runtimes[name]
		if h.AllDevicesAllowed && !h.WithoutHostDevices {
			return allDevicesError(name)
		}
		if h.IOType != "" && h.IOType != "fifo" && h.IOType != "streaming" {
			return fmt.Errorf("handler %q: io_type = %q: want fifo or streaming", name, h.IOType)
		}
	}
	if err := durations(map[string]string{
		"drain_exec_sync_io_timeout": r.DrainExecSyncIOTimeout, "stats_collect_period": r.StatsCollectPeriod,
		"stats_retention_period": r.StatsRetentionPeriod, "image_pull_progress_timeout": p.images.ImagePullProgressTimeout,
		"stream_idle_timeout": p.server.StreamIdleTimeout,
	}); err != nil {
		return err
	}
	if err := validateRegistry(&p.images.Registry, p.images.Registry.ConfigPath); err != nil {
		return err
	}
	if err := l.needs(out.DisabledPlugins, services2); err != nil {
		return err
	}
	if err := transfer(l.rt, out); err != nil {
		return err
	}
	if err := snapshotter(p.images.Snapshotter, out.ProxyPlugins, out.DisabledPlugins); err != nil {
		return err
	}
	if err := streaming(p.server.EnableTLSStreaming, p.server.KeyPair); err != nil {
		return err
	}
	return l.baseSpecs(r.Runtimes)
}
