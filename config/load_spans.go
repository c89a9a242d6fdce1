package config

import (
	"bytes"

	"github.com/runtimegate/runtimegate/config/schema"
)

// A span says in which versions a key exists; elsewhere it is an unknown key,
// whose value may be of any type.
type span struct {
	path        []string
	since, till [2]int // major and minor; till is the first without
}

func (s span) in(rt Runtime) bool {
	return rt.atLeast(s.since[0], s.since[1], 0) && (s.till == [2]int{} || !rt.atLeast(s.till[0], s.till[1], 0))
}

func since(major, minor int, path ...string) span {
	return span{path: path, since: [2]int{major, minor}}
}

func till(major, minor int, path ...string) span {
	return span{path: path, till: [2]int{major, minor}}
}

// topKeys are keys of the top level that not all versions have, each with the
// shape that has nothing else.
var topKeys = []struct {
	span  span
	shape func() any
}{
	{till(2, 1, "plugin_dir"), func() any { return &schema.PluginDir{} }},
	{since(2, 2, "grpc", "tcp_tls_common_name"), func() any { return &schema.CommonName{} }},
	{since(2, 3, "debug", "log_trace_id"), func() any { return &schema.LogTraceID{} }},
}

// checkTopKeys decodes those of topKeys that rt knows, when data may have them.
func checkTopKeys(rt Runtime, data []byte, decode func(v any) error) error {
	for _, k := range topKeys {
		if !k.span.in(rt) || !bytes.Contains(bytes.ToLower(data), []byte(k.span.path[len(k.span.path)-1])) {
			continue
		}
		if err := decode(k.shape()); err != nil {
			return err
		}
	}
	return nil
}

// Keys of the CRI plugin in 1.6 and 1.7. The sections of 1.x have some keys of
// 2.x in the schema they share.
var plugin1Spans = withParents(append([]span{
	since(1, 7, "containerd", "ignore_blockio_not_enabled_errors"),
	since(1, 7, "cni", "setup_serially"),
	since(1, 7, "enable_cdi"),
	since(1, 7, "cdi_spec_dirs"),
	since(1, 7, "image_pull_progress_timeout"),
	since(1, 7, "image_pull_with_sync_fs"),
	since(2, 0, "cni", "bin_dirs"),
	since(2, 0, "cni", "use_internal_loopback"),
}, handler1Spans()...))

// withParents adds the keys as go-toml 1 finds them in the parent of a table
// that is absent.
func withParents(spans []span) []span {
	for _, s := range spans {
		if s.path[0] == "containerd" || s.path[0] == "cni" {
			s.path = s.path[1:]
			spans = append(spans, s)
		}
	}
	return spans
}

// handler1Spans are keys of a handler, wherever 1.x has one.
func handler1Spans() []span {
	var spans []span
	for _, parent := range [][]string{{"runtimes", "*"}, {"default_runtime"}, {"untrusted_workload_runtime"}} {
		at := func(key string) []string { return append(append([]string{"containerd"}, parent...), key) }
		for _, key := range []string{"privileged_without_host_devices_all_devices_allowed", "snapshotter", "sandbox_mode"} {
			spans = append(spans, since(1, 7, at(key)...))
		}
		for _, key := range []string{"sandboxer", "io_type", "cgroup_writable", "disable_pause_image_pull"} {
			spans = append(spans, since(2, 0, at(key)...))
		}
	}
	return spans
}

// Keys of io.containerd.cri.v1.runtime.
var runtime2Spans = []span{
	till(2, 0, "containerd", "runtimes", "*", "runtime_engine"),
	till(2, 0, "containerd", "runtimes", "*", "runtime_root"),
	till(2, 0, "containerd", "runtimes", "*", "sandbox_mode"),
	since(2, 1, "containerd", "runtimes", "*", "cgroup_writable"),
	since(2, 4, "containerd", "runtimes", "*", "disable_pause_image_pull"),
	till(2, 4, "cni", "bin_dir"),
	since(2, 1, "cni", "bin_dirs"),
	till(2, 4, "enable_cdi"),
	since(2, 2, "enable_criu"),
	since(2, 2, "enable_experimental_restore_via_create"),
	till(2, 4, "enable_experimental_restore_via_create"),
	since(2, 3, "stats_collect_period"),
	since(2, 3, "stats_retention_period"),
}

// Keys of io.containerd.cri.v1.images.
var images2Spans = []span{
	since(2, 1, "concurrent_layer_fetch_buffer"),
	since(2, 1, "use_local_image_pull"),
	till(2, 0, "registry", "configs", "*", "tls"),
}

// pruneTable removes the keys that rt does not know. Keys of structs are
// matched in any case there, as go-toml 2 does.
func pruneTable(rt Runtime, table map[string]any, spans []span) {
	for _, s := range spans {
		if !s.in(rt) {
			pruneAt(table, s.path)
		}
	}
}

func pruneAt(table map[string]any, path []string) {
	for k, v := range table {
		if path[0] != "*" && !foldEqual(k, path[0]) {
			continue
		}
		if len(path) == 1 {
			delete(table, k)
		} else if t, ok := v.(map[string]any); ok {
			pruneAt(t, path[1:])
		}
	}
}
