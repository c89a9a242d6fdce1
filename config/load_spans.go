package config

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

// Keys of the top level.
var topSpans = []span{
	till(2, 1, "plugin_dir"),
	since(2, 2, "grpc", "tcp_tls_common_name"),
	since(2, 3, "debug", "log_trace_id"),
}

// Keys of the CRI plugin in 1.6 and 1.7. The sections of 1.x have some keys of
// 2.x in the schema they share.
var plugin1Spans = []span{
	since(1, 7, "containerd", "ignore_blockio_not_enabled_errors"),
	since(1, 7, "cni", "setup_serially"),
	since(1, 7, "enable_cdi"),
	since(1, 7, "cdi_spec_dirs"),
	since(1, 7, "image_pull_progress_timeout"),
	since(1, 7, "image_pull_with_sync_fs"),
	since(1, 7, "containerd", "runtimes", "*", "privileged_without_host_devices_all_devices_allowed"),
	since(1, 7, "containerd", "runtimes", "*", "snapshotter"),
	since(1, 7, "containerd", "runtimes", "*", "sandbox_mode"),
	since(2, 0, "containerd", "runtimes", "*", "sandboxer"),
	since(2, 0, "containerd", "runtimes", "*", "io_type"),
	since(2, 0, "containerd", "runtimes", "*", "cgroup_writable"),
	since(2, 0, "containerd", "runtimes", "*", "disable_pause_image_pull"),
	since(2, 0, "cni", "bin_dirs"),
	since(2, 0, "cni", "use_internal_loopback"),
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
func pruneTable(rt Runtime, table map[string]any, spans []span) (unknown [][]string) {
	for _, s := range spans {
		if !s.in(rt) {
			unknown = pruneAt(table, nil, s.path, unknown)
		}
	}
	return unknown
}

func pruneAt(table map[string]any, done, rest []string, unknown [][]string) [][]string {
	for k, v := range table {
		if rest[0] != "*" && !foldEqual(k, rest[0]) {
			continue
		}
		path := append(append([]string(nil), done...), k)
		if len(rest) == 1 {
			delete(table, k)
			unknown = append(unknown, path)
		} else if t, ok := v.(map[string]any); ok {
			unknown = pruneAt(t, path, rest[1:], unknown)
		}
	}
	return unknown
}
