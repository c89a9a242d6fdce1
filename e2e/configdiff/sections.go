package configdiff

import (
	"fmt"
	"slices"
	"strings"
)

// section is a part of a file that stands by itself.
func (g *generator) section(plugin string) string {
	p := "plugins." + plugin
	switch g.IntN(20) {
	case 0, 1, 2, 3, 4, 5, 6:
		return g.handler(p)
	case 7, 8:
		return fmt.Sprintf("[%s.containerd]\n  default_runtime_name = %s\n", p, g.value(`"runc"`, `"nvidia"`, `"kata"`, seldom, `""`, `"nope"`, "1"))
	case 9:
		return g.cri(p)
	case 10:
		return g.cri(p)
	case 11:
		if g.chance(0.5) {
			return g.wrongParent(p, plugin)
		}
		return g.handler(p)
	case 12:
		return g.otherPlugin()
	case 13:
		return g.table()
	case 14:
		return g.legacy(p)
	case 15:
		if g.chance(0.6) {
			return g.styles(p)
		}
		return g.handler(p)
	case 16:
		return g.images(plugin)
	}
	return g.handler(p)
}

// seldom stands in a list of choices before those that are mistakes.
const seldom = "\x00"

// value is mostly one of the choices before seldom.
func (g *generator) value(choices ...string) string {
	i := slices.Index(choices, seldom)
	if g.chance(0.97) {
		return g.pick(choices[:i]...)
	}
	return g.pick(choices[i+1:]...)
}

func (g *generator) name() string {
	return g.value("runc", "nvidia", "kata", "nvidia", "gvisor", "nvidia-cdi", `"nvidia.cdi"`, "nvidia.cdi", seldom, "options", `""`, "NVIDIA",
		`"ü"`, `'a b'`, "1a", "_x", `"\u0041"`, "'a\"b'", `"a\"b"`)
}

func (g *generator) handler(p string) string {
	var b strings.Builder
	name := g.name()
	fmt.Fprintf(&b, "[%s.containerd.runtimes.%s]\n", p, name)
	for range g.IntN(4) {
		b.WriteString("  " + g.field() + "\n")
	}
	if g.chance(0.3) {
		fmt.Fprintf(&b, "[%s.containerd.runtimes.%s.options]\n  %s\n", p, name, g.option())
	}
	return b.String()
}

func (g *generator) option() string {
	return g.value(`BinaryName = "/usr/bin/nvidia-container-runtime"`, "SystemdCgroup = true", `BinaryName = ""`, `Root = "/x"`,
		seldom, "BinaryName = 1", "SystemdCgroup = \"x\"", "x = [1, 2]", "d = 1979-05-27", "y = {a = 1}", `binaryname = "/x"`, `"" = 1`, "t = 07:32:00", "f = 1.5", "dt = 1979-05-27T07:32:00", "z = [{a = 1}, {b = 2}]")
}

func (g *generator) field() string {
	return g.value(
		`runtime_type = "io.containerd.runc.v2"`, `runtime_type = "io.containerd.kata.v2"`, `runtime_type = "io.containerd.runsc.v1"`,
		`runtime_type = "io.containerd.runc.v2"`, `runtime_path = "/opt/x"`, "privileged_without_host_devices = true", `pod_annotations = ["a", "b"]`,
		`sandbox_mode = "shim"`, `sandboxer = "podsandbox"`, `snapshotter = "overlayfs"`, `runtime_engine = ""`, `runtime_root = ""`, `base_runtime_spec = ""`,
		"cni_max_conf_num = 1", `container_annotations = []`, `io_type = "fifo"`,
		seldom, "runtime_type = 1", `privileged_without_host_devices = "yes"`, `pod_annotations = "a"`, "sandbox_mode = 1", "sandboxer = true", "snapshotter = 1",
		`cni_max_conf_num = "1"`, "cgroup_writable = 1", "io_type = 1", "options = 1", "options = []", `options = {BinaryName = "/x"}`, `Runtime_Type = "x"`, `RUNTIME_TYPE = "y"`,
		"unknown = 1", `privileged_without_host_devices_all_devices_allowed = "x"`, "disable_pause_image_pull = 1", `pod_annotations = [1]`, "runtime_engine = 1",
		`runtime_type = ["a"]`, `runtime_type = {a = 1}`, `cni_conf_dir = '''x'''`, "cni_max_conf_num = 1.0", `"runtime_type" = "q"`, `pod_annotations = ["a", 1]`, "cni_max_conf_num = true",
		"privileged_without_host_devices = 0", "base_runtime_spec = 1979-05-27")
}

// cri is a part of the plugin's section that has nothing to do with handlers.
func (g *generator) cri(p string) string {
	return g.value(
		fmt.Sprintf("[%s.registry]\n  config_path = \"/etc/containerd/certs.d\"\n", p),
		fmt.Sprintf("[%s]\n  sandbox_image = \"pause:3\"\n", p),
		fmt.Sprintf("[%s.cni]\n  bin_dir = \"/opt/cni/bin\"\n  conf_dir = \"/x\"\n", p),
		fmt.Sprintf("[%s]\n  enable_cdi = true\n  cdi_spec_dirs = [\"/etc/cdi\"]\n", p),
		fmt.Sprintf("[%s]\n  enable_cdi = false\n", p),
		fmt.Sprintf("[%s]\n  max_container_log_line_size = 16384\n  enable_selinux = false\n", p),
		fmt.Sprintf("[%s.containerd]\n  snapshotter = \"overlayfs\"\n  discard_unpacked_layers = true\n", p),
		fmt.Sprintf("[%s.registry.mirrors.\"docker.io\"]\n  endpoint = [\"https://x\"]\n", p),
		fmt.Sprintf("[%s]\n", p), fmt.Sprintf("[%s.containerd]\n", p), fmt.Sprintf("[%s.containerd.runtimes]\n", p),
		fmt.Sprintf("[%s]\n  stats_collect_period = 10\n", p), fmt.Sprintf("[%s]\n  stats_collect_period = \"10s\"\n", p),
		seldom, fmt.Sprintf("[%s.cni]\n  bin_dirs = [\"/a\"]\n", p), fmt.Sprintf("[%s.cni]\n  bin_dir = 1\n", p), fmt.Sprintf("[%s.cni]\n  bin_dirs = \"x\"\n", p),
		fmt.Sprintf("[%s]\n  enable_cdi = \"yes\"\n", p), fmt.Sprintf("[%s]\n  containerd = \"x\"\n", p), fmt.Sprintf("[%s]\n  containerd = []\n", p),
		fmt.Sprintf("[%s.containerd]\n  runtimes = \"x\"\n", p), fmt.Sprintf("[%s.containerd]\n  runtimes = {}\n", p), fmt.Sprintf("[%s.containerd]\n  runtimes = []\n", p),
		fmt.Sprintf("[%s]\n  sandbox_image = 1\n", p), fmt.Sprintf("[%s]\n  registry = 1\n", p), fmt.Sprintf("[%s]\n  cni = 1\n", p),
		fmt.Sprintf("[%s]\n  stream_server_port = 0\n", p), fmt.Sprintf("[%s]\n  stream_server_port = \"0\"\n  disable_tcp_service = true\n", p),
		fmt.Sprintf("[%s.x509_key_pair_streaming]\n  tls_cert_file = 1\n", p), fmt.Sprintf("[%s]\n  tls_cert_file = 1\n", p), fmt.Sprintf("[%s]\n  bin_dir = 1\n", p),
		fmt.Sprintf("[%s]\n  default_runtime_name = \"kata\"\n", p), fmt.Sprintf("[%s]\n  key_model = 1\n", p), fmt.Sprintf("[%s.image_decryption]\n  key_model = 1\n", p),
		fmt.Sprintf("[%s]\n  drain_exec_sync_io_timeout = 1\n", p), fmt.Sprintf("[%s]\n  enable_criu = 1\n", p), fmt.Sprintf("[%s]\n  ignore_deprecation_warnings = \"x\"\n", p),
		fmt.Sprintf("[%s.registry.configs.\"x\".tls]\n  insecure_skip_verify = 1\n", p), fmt.Sprintf("[%s.registry.configs.\"x\".auth]\n  username = 1\n", p),
		fmt.Sprintf("[%s.registry.headers]\n  x = \"y\"\n", p), fmt.Sprintf("[%s]\n  image_pull_with_sync_fs = \"x\"\n", p), fmt.Sprintf("[%s]\n  use_internal_loopback = 1\n", p))
}

// wrongParent hangs a handler where nothing looks for it.
func (g *generator) wrongParent(p, plugin string) string {
	t := "  runtime_type = \"io.containerd.runc.v2\"\n"
	return g.pick("["+p+".runtimes.nvidia]\n", "["+p+".containerd.nvidia]\n", "["+plugin+".containerd.runtimes.nvidia]\n", "[containerd.runtimes.nvidia]\n",
		"[runtimes.nvidia]\n", "["+p+".containerd.runtimes.runtimes.nvidia]\n", "[plugin."+plugin+".containerd.runtimes.nvidia]\n",
		"["+p+".containerd.runtime.nvidia]\n", "[Plugins."+plugin+".containerd.runtimes.nvidia]\n", "["+p+".Containerd.Runtimes.nvidia]\n", "["+p+".containerd.Runtimes.nvidia]\n",
		"["+p+".CONTAINERD.RUNTIMES.nvidia]\n") + t
}

func (g *generator) otherPlugin() string {
	return g.value(
		"[plugins.\"io.containerd.snapshotter.v1.overlayfs\"]\n  root_path = \"\"\n", "[plugins.\"io.containerd.gc.v1.scheduler\"]\n  pause_threshold = 0.02\n",
		"[plugins.\"io.containerd.runtime.v2.task\"]\n  platforms = [\"linux/amd64\"]\n", "[plugins.\"io.containerd.internal.v1.opt\"]\n  path = \"/opt/containerd\"\n",
		"[plugins.\"io.containerd.monitor.v1.cgroups\"]\n  no_prometheus = false\n", "[plugins.\"io.containerd.nosuch.v1.x\"]\n  a = 1\n",
		seldom, "[plugins.\"io.containerd.runtime.v2.task\"]\n  sched_core = true\n", "[plugins.\"io.containerd.internal.v1.restart\"]\n  interval = \"10s\"\n",
		"[plugins.restart]\n  interval = \"10s\"\n", "[plugins.x]\n", "[plugins]\n  x = 1\n", "[plugins]\n  \"io.containerd.grpc.v1.cri\" = 1\n", "[plugins]\n  \"io.containerd.cri.v1.runtime\" = \"x\"\n",
		"[plugins]\n \"io.containerd.runtime.v2.task\" = 1\n", "plugins = 1\n", "[[plugins]]\n", "[plugins]\n", "[plugins.\"io.containerd.snapshotter.v1.overlayfs\"]\n  root_path = 1\n")
}

func (g *generator) table() string {
	return g.value(
		"[timeouts]\n  \"io.containerd.timeout.task.state\" = \"2s\"\n", "[grpc]\n  address = \"/run/x.sock\"\n", "[debug]\n  level = \"info\"\n",
		"[metrics]\n  address = \"\"\n", "[proxy_plugins.nydus]\n  type = \"snapshot\"\n  address = \"/run/n.sock\"\n", "[cgroup]\n  path = \"\"\n",
		"[stream_processors.x]\n  accepts = [\"a\"]\n  path = \"b\"\n", "[ttrpc]\n  address = \"\"\n",
		seldom, "[timeouts]\n  x = 1\n", "[grpc]\n  uid = \"x\"\n", "[debug]\n  level = 1\n", "[proxy_plugins.x]\n  type = \"nosuch\"\n", "[proxy_plugins.overlayfs]\n  type = \"snapshot\"\n",
		"[proxy_plugins]\n  x = 1\n", "[stream_processors.x]\n  accepts = \"a\"\n", "[unknown.table]\n  a = 1\n", "[grpc]\n  tcp_tls_common_name = 1\n", "[debug]\n  log_trace_id = 1\n",
		"[proxy_plugins.sb]\n  type = \"sandbox\"\n", "[proxy_plugins.c]\n  type = \"content\"\n  capabilities = 1\n", "[proxy_plugins.c]\n  type = \"content\"\n  platform = 1\n", "[proxy_plugins.c]\n  type = \"content\"\n  exports = {a = 1}\n", "[proxy_plugins.d]\n")
}

func (g *generator) legacy(p string) string {
	name := g.pick("default_runtime", "untrusted_workload_runtime")
	return fmt.Sprintf("[%s.containerd.%s]\n  %s\n", p, name, g.field())
}

// images writes sections of the images plugin beside the runtime's.
func (g *generator) images(plugin string) string {
	if strings.Contains(plugin, "grpc") && g.chance(0.7) {
		return g.cri("plugins." + plugin)
	}
	p := `plugins."io.containerd.cri.v1.images"`
	return g.value("["+p+".pinned_images]\n  sandbox = \"pause\"\n", "["+p+"]\n  snapshotter = \"overlayfs\"\n", "["+p+".registry]\n  config_path = \"\"\n",
		seldom, "["+p+"]\n  pinned_images = 1\n", "["+p+"]\n  snapshotter = 1\n", "["+p+"]\n  use_local_image_pull = 1\n", "["+p+"]\n  runtime_platform = 1\n", "["+p+".runtime_platforms.x]\n  platform = 1\n")
}

// styles writes handlers in other forms than tables.
func (g *generator) styles(p string) string {
	name := g.name()
	return g.pick(
		fmt.Sprintf("[%s.containerd.runtimes]\n  %s = { runtime_type = \"io.containerd.runc.v2\" }\n", p, name),
		fmt.Sprintf("[%s.containerd]\n  runtimes.%s.runtime_type = \"io.containerd.runc.v2\"\n", p, name),
		fmt.Sprintf("[%s]\n  containerd.runtimes.%s.runtime_type = \"io.containerd.runc.v2\"\n  containerd.default_runtime_name = \"runc\"\n", p, name),
		fmt.Sprintf("[%s.containerd]\n  runtimes = { %s = { runtime_type = \"x.y.z\", options = { BinaryName = \"/b\" } } }\n", p, name),
		fmt.Sprintf("[plugins]\n  %s.containerd.runtimes.%s.runtime_type = \"x\"\n", strings.TrimPrefix(p, "plugins."), name),
		fmt.Sprintf("[[%s.containerd.runtimes.%s]]\n  runtime_type = \"x\"\n", p, name),
		fmt.Sprintf("[[%s.containerd.runtimes]]\n  runtime_type = \"x\"\n", p),
		fmt.Sprintf("[[%s]]\n  x = 1\n", p),
		fmt.Sprintf("[%s.containerd.runtimes]\n  %s = \"x\"\n", p, name),
		fmt.Sprintf("[ %s . containerd . runtimes . %s ]\n  runtime_type = \"x\"\n", p, name))
}

// quirks spoils a text in ways that editors, tools and people do.
func (g *generator) quirks(s string) string {
	if g.chance(0.9) {
		return s
	}
	switch g.IntN(14) {
	case 0:
		return "\xef\xbb\xbf" + s
	case 1:
		return strings.ReplaceAll(s, "\n", "\r\n")
	case 2:
		return strings.ReplaceAll(s, "\n", "\r")
	case 3:
		return "# caf\xe9\n" + s
	case 4:
		return s + s
	case 5:
		return s + g.pick("\x00", "trailing", "[", "\"", "x = ", "#", "\r", "\x7f", "# \x01\n", "\t", "\u00a0", "x = 1", "ä = 1\n", "[a]\n[a]\n", "a=1\na=1\n", "[a.b]\n[a]\n", "a={}\n[a.b]\n", "a.b=1\n[a]\n", "[a]\nb.c=1\n[a.b]\n", "a=[]\n[[a]]\n", "[[a]]\n[a]\n", "[a]\n[[a]]\n", "x = 01\n", "x = +1\n", "x = 'a\n", "x = \"\\q\"\n", "x = \"\\x41\"\n", "x = \"\\e\"\n", "x = \"\\ud800\"\n", "x = tru\n", "x = [1,,2]\n", "x = [,]\n", "x = {a=1,}\n", "x = {a=1\n}\n", "x = 1 y = 2\n", "= 1\n", "x\n", "x.  y = 1\n", ". = 1\n", "[]\n", "[a\n", "[a]b\n", "[a] # c\n", "[[a]\n", "[a]]\n", "[a..b]\n", "x = 2024-13-01\n", "x = 2024-01-01 00:00:00\n", "x = 0b11\n", "x = 0o7\n", "x = \"a\tb\"\n", "x = '''a''''\n", "x = \"\"\"a\"\"\"\"\n", "\"x\" = 1\nx = 2\n", "x = [1\n,2 # c\n]\n", "X = 1\nx = 2\n", "x = \xff\n", "x = \"\xff\"\n", "x = '\xff'\n", "x=1;y=2\n", "x: 1\n", "// c\n", "'' = 1\n", "x = 'ok' # \xff\n")
	case 6:
		lines := strings.SplitAfter(s, "\n")
		g.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		return strings.Join(lines, "")
	case 7:
		return strings.ReplaceAll(s, "  ", "\t")
	case 8:
		return strings.ReplaceAll(s, "]\n", "] # table\n")
	case 9:
		return strings.TrimSuffix(s, "\n")
	case 10:
		return strings.ReplaceAll(s, `"`, "'")
	default:
		return g.mutate(s)
	}
}

// noise are bytes that matter to TOML.
const noise = "\"'[]{}=.,# \n\r\t\\0aA\xff-_"

// mutate changes single bytes.
func (g *generator) mutate(s string) string {
	b := []byte(s)
	for range 1 + g.IntN(2) {
		if len(b) == 0 {
			break
		}
		i := g.IntN(len(b))
		switch g.IntN(4) {
		case 0:
			b = append(b[:i], b[i+1:]...)
		case 1:
			b[i] = noise[g.IntN(len(noise))]
		case 2:
			b = append(b[:i], append([]byte{noise[g.IntN(len(noise))]}, b[i:]...)...)
		case 3:
			j := min(len(b), i+1+g.IntN(20))
			b = append(b[:j], append([]byte(string(b[i:j])), b[j:]...)...)
		}
	}
	return string(b)
}
