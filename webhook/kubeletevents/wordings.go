package kubeletevents

import "regexp"

// A wording is how a component says something in an Event.
type wording struct {
	cause Cause
	by    string
	// reasons are the Event's, separated by spaces; any, if empty.
	reasons string
	text    *regexp.Regexp
}

// The reasons of Events about a sandbox: the kubelet's (pkg/kubelet/events).
const sandbox = "FailedCreatePodSandBox FailedPodSandBoxStatus SandboxChanged"

// name is the name of a handler or class, quoted once, or twice inside a message.
const name = `\\?"(?P<handler>[^"\\]+)\\?"`

// atError is where an error begins: at the start of a message, or behind what its
// callers put before it.
const atError = `(?:^|: |desc = )`

// wordings are tried one after the other: the first that matches counts.
var wordings = []wording{
	// The API server's RuntimeClass admission (kubernetes 1.37,
	// plugin/pkg/admission/runtimeclass/admission.go), told by whoever creates the
	// Pod: the controllers of ReplicaSets, Jobs and others (FailedCreate).
	{ClassNotFound, "kube-apiserver", "", regexp.MustCompile(`pod rejected: RuntimeClass \\?"(?P<class>[^"\\]+)\\?" not found`)},
	{ClassConflict, "kube-apiserver", "", regexp.MustCompile(`pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`)},
	{ClassConflict, "kube-apiserver", "", regexp.MustCompile(`pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`)},
	{ClassConflict, "kube-apiserver", "", regexp.MustCompile(`conflict: runtimeClass\.scheduling\.nodeSelector\[`)},
	// A denial of ours (k8s.io/apiserver 0.37, webhook/errors/statuserror.go).
	{Denied, "runtimegate", "", regexp.MustCompile(`admission webhook "[a-z]+\.runtimegate\.io" denied the request`)},
	// The kubelet looks the class up once more (kubernetes 1.37,
	// pkg/kubelet/runtimeclass): the lister's error, and its own for all else.
	{ClassNotFound, "kubelet", "", regexp.MustCompile(`runtimeclass(?:es)?\.node\.k8s\.io "(?P<class>[^"]+)" not found`)},
	{ClassNotFound, "kubelet", "", regexp.MustCompile(`failed to lookup RuntimeClass (?P<class>[^:\s]+):`)},

	// containerd 1.6 and 1.7 ("failed to get sandbox runtime: …",
	// pkg/cri/server/sandbox_run.go), 2.0 to 2.4 ("unable to get OCI runtime for
	// sandbox …", internal/cri/config/config.go). Newer cri-dockerd says the same of
	// the runtimes that Docker knows (core/sandbox_run.go, IsRuntimeConfigured).
	{NotLoaded, "containerd or cri-dockerd", sandbox, regexp.MustCompile(atError + `no runtime for ` + name + ` is configured`)},
	// CRI-O (internal/oci/oci.go, ValidateRuntimeHandler; the list is of pointers).
	{NotLoaded, "CRI-O", sandbox, regexp.MustCompile(`failed to find runtime handler "?(?P<handler>[^\s"]+)"? from runtime list`)},
	// Docker's own (moby, daemon/runtime_unix.go), passed on by cri-dockerd and the
	// dockershim; the second wording is the older one. A name in a message, as that of
	// an image, may hold the same words: they begin what Docker says.
	{NotLoaded, "Docker", sandbox, regexp.MustCompile(`Error response from daemon: [Uu]nknown (?:or invalid runtime name:|runtime specified) "?(?P<handler>[^\s":]+)`)},
	// The kubelet's dockershim (until kubernetes 1.23) and older cri-dockerd, which
	// take the handler docker only.
	{NoHandlers, "dockershim or cri-dockerd", sandbox, regexp.MustCompile(atError + `RuntimeHandler ` + name + ` not supported`)},

	// containerd 1.6 to 2.4 (runtime/v2/manager.go, core/runtime/v2/shim_manager.go):
	// looked for by runtime_type, by an absolute runtime_path.
	{ShimMissing, "containerd", "", regexp.MustCompile(`runtime \\?"[^"\\]+\\?" binary not installed \\?"(?P<program>[^"\\]+)\\?"`)},
	{ShimMissing, "containerd", "", regexp.MustCompile(`invalid custom binary path: stat (?P<program>[^:\s]+): `)},
	{ShimMissing, "containerd", "", regexp.MustCompile(`invalid runtime name (?P<program>[^,\s]+), correct runtime name should be`)},
	{ShimMissing, "containerd", sandbox, regexp.MustCompile(`failed to start shim: .*fork/exec (?P<program>[^:\s]+): (?:no such file or directory|permission denied)`)},
	// containerd 1.6 to 2.4 (core/metadata/containers.go).
	{TypeMissing, "containerd", "", regexp.MustCompile(`container\.Runtime\.Name must be set`)},
	{TypeMissing, "CRI-O", "", regexp.MustCompile(`empty runtime path for runtime handler (?P<handler>\S+)`)},
	// The runc shim of containerd 1.6 to 2.4 (process/init.go, runtimeError): its
	// log.json is not there as nothing ran that could write it. By a path, and by a
	// name that is in no folder of PATH.
	{BinaryMissing, "containerd-shim-runc-v2", "", regexp.MustCompile(`unable to retrieve OCI runtime error .*: fork/exec (?P<program>[^:\s]+): (?:no such file or directory|permission denied)`)},
	{BinaryMissing, "containerd-shim-runc-v2", "", regexp.MustCompile(`unable to retrieve OCI runtime error .*exec: \\?"(?P<program>[^"\\]+)\\?": (?:executable file not found|no such file or directory|stat |permission denied)`)},

	// runc (libcontainer/specconv/spec_linux.go): only of the cgroup driver systemd, to
	// which a kubelet of the other one gives a path. Quoted once more where a component
	// passes it on.
	{CgroupDriver, "runc", "", regexp.MustCompile(`expected cgroupsPath to be of format .{0,4}slice:prefix:name.{0,4} for systemd cgroups, got`)},
	// containerd 1.6 to 2.4 (internal/cri/server/podsandbox/sandbox_run.go, before 1.7
	// without "sandbox"), with the error of the TOML package (go-toml v2 names the field).
	{OptionsWrong, "containerd", sandbox, regexp.MustCompile(`failed to generate (?:sandbox )?runtime options: .*struct field \S*\.(?P<option>\w+) of type (?P<type>\w+)`)},
	{OptionsWrong, "containerd", sandbox, regexp.MustCompile(`failed to generate (?:sandbox )?runtime options: `)},

	// containerd 1.6 to 2.4 (internal/cri/config/config.go).
	{ClassWithAnnotation, "containerd", "", regexp.MustCompile(`untrusted workload with explicit runtime handler is not allowed`)},
	// A containerd whose CRI plugin is off or has not come up.
	{RuntimeDown, "containerd", "", regexp.MustCompile(`unknown service runtime\.v1(?:alpha2)?\.RuntimeService`)},
	// Of any other socket it means Elsewhere: isCRI.
	{RuntimeDown, "kubelet", sandbox, regexp.MustCompile(`dial unix (?P<socket>/\S*): connect: (?:connection refused|no such file or directory)`)},
	// The kubelet (kubernetes 1.37, pkg/kubelet/kubelet_pods.go, lifecycle/predicate.go).
	{FeatureMissing, "kubelet", "", regexp.MustCompile(`requested recursive read-only mode, but it is not supported by the runtime`)},
	{FeatureMissing, "kubelet", "SupplementalGroupsPolicyNotSupported", regexp.MustCompile(``)},

	// kube-scheduler (kubernetes 1.37, pkg/scheduler/framework/types.go).
	{Unschedulable, "kube-scheduler", "FailedScheduling", regexp.MustCompile(`\d+/\d+ nodes are available: `)},
	// All else about a sandbox: networks, images, cgroups.
	{Elsewhere, "kubelet", "FailedCreatePodSandBox", regexp.MustCompile(``)},
}
