package schema

// Containerd is the section containerd of the CRI plugin in containerd 1.x.
type Containerd struct {
	Snapshotter                   string             `toml:"snapshotter"`
	DefaultRuntimeName            string             `toml:"default_runtime_name"`
	DefaultRuntime                Runtime            `toml:"default_runtime"`
	UntrustedWorkloadRuntime      Runtime            `toml:"untrusted_workload_runtime"`
	Runtimes                      map[string]Runtime `toml:"runtimes"`
	NoPivot                       bool               `toml:"no_pivot"`
	DisableSnapshotAnnotations    bool               `toml:"disable_snapshot_annotations"`
	DiscardUnpackedLayers         bool               `toml:"discard_unpacked_layers"`
	IgnoreBlockIONotEnabledErrors bool               `toml:"ignore_blockio_not_enabled_errors"`
	IgnoreRdtNotEnabledErrors     bool               `toml:"ignore_rdt_not_enabled_errors"`
}

// Plugin is the section of io.containerd.grpc.v1.cri in containerd 1.x. What
// is embedded in containerd is embedded here: go-toml v1 looks for the fields
// of an embedded struct in the parent table when the struct's own table is
// absent, so that there "runtimes" works without the table "containerd".
type Plugin struct {
	Containerd      `toml:"containerd"`
	CNI             `toml:"cni"`
	Registry        Registry `toml:"registry"`
	ImageDecryption `toml:"image_decryption"`

	DisableTCPService                  bool   `toml:"disable_tcp_service"`
	StreamServerAddress                string `toml:"stream_server_address"`
	StreamServerPort                   string `toml:"stream_server_port"`
	StreamIdleTimeout                  string `toml:"stream_idle_timeout"`
	EnableSelinux                      bool   `toml:"enable_selinux"`
	SelinuxCategoryRange               int    `toml:"selinux_category_range"`
	SandboxImage                       string `toml:"sandbox_image"`
	StatsCollectPeriod                 int    `toml:"stats_collect_period"`
	SystemdCgroup                      bool   `toml:"systemd_cgroup"`
	EnableTLSStreaming                 bool   `toml:"enable_tls_streaming"`
	KeyPair                            `toml:"x509_key_pair_streaming"`
	MaxContainerLogLineSize            int      `toml:"max_container_log_line_size"`
	DisableCgroup                      bool     `toml:"disable_cgroup"`
	DisableApparmor                    bool     `toml:"disable_apparmor"`
	RestrictOOMScoreAdj                bool     `toml:"restrict_oom_score_adj"`
	MaxConcurrentDownloads             int      `toml:"max_concurrent_downloads"`
	DisableProcMount                   bool     `toml:"disable_proc_mount"`
	UnsetSeccompProfile                string   `toml:"unset_seccomp_profile"`
	TolerateMissingHugetlbController   bool     `toml:"tolerate_missing_hugetlb_controller"`
	DisableHugetlbController           bool     `toml:"disable_hugetlb_controller"`
	DeviceOwnershipFromSecurityContext bool     `toml:"device_ownership_from_security_context"`
	IgnoreImageDefinedVolumes          bool     `toml:"ignore_image_defined_volumes"`
	NetNSMountsUnderStateDir           bool     `toml:"netns_mounts_under_state_dir"`
	EnableUnprivilegedPorts            bool     `toml:"enable_unprivileged_ports"`
	EnableUnprivilegedICMP             bool     `toml:"enable_unprivileged_icmp"`
	EnableCDI                          bool     `toml:"enable_cdi"`
	CDISpecDirs                        []string `toml:"cdi_spec_dirs"`
	ImagePullProgressTimeout           string   `toml:"image_pull_progress_timeout"`
	DrainExecSyncIOTimeout             string   `toml:"drain_exec_sync_io_timeout"`
	ImagePullWithSyncFs                bool     `toml:"image_pull_with_sync_fs"`
	IgnoreDeprecationWarnings          []string `toml:"ignore_deprecation_warnings"`
}

// Containerd2 is the section containerd of io.containerd.cri.v1.runtime.
type Containerd2 struct {
	DefaultRuntimeName            string             `toml:"default_runtime_name"`
	Runtimes                      map[string]Runtime `toml:"runtimes"`
	IgnoreBlockIONotEnabledErrors bool               `toml:"ignore_blockio_not_enabled_errors"`
	IgnoreRdtNotEnabledErrors     bool               `toml:"ignore_rdt_not_enabled_errors"`
}

// RuntimePlugin is the section of io.containerd.cri.v1.runtime in 2.x.
type RuntimePlugin struct {
	Containerd2 `toml:"containerd"`
	CNI         `toml:"cni"`

	EnableSelinux                      bool     `toml:"enable_selinux"`
	SelinuxCategoryRange               int      `toml:"selinux_category_range"`
	MaxContainerLogLineSize            int      `toml:"max_container_log_line_size"`
	DisableApparmor                    bool     `toml:"disable_apparmor"`
	RestrictOOMScoreAdj                bool     `toml:"restrict_oom_score_adj"`
	DisableProcMount                   bool     `toml:"disable_proc_mount"`
	UnsetSeccompProfile                string   `toml:"unset_seccomp_profile"`
	TolerateMissingHugetlbController   bool     `toml:"tolerate_missing_hugetlb_controller"`
	DisableHugetlbController           bool     `toml:"disable_hugetlb_controller"`
	DeviceOwnershipFromSecurityContext bool     `toml:"device_ownership_from_security_context"`
	IgnoreImageDefinedVolumes          bool     `toml:"ignore_image_defined_volumes"`
	NetNSMountsUnderStateDir           bool     `toml:"netns_mounts_under_state_dir"`
	EnableUnprivilegedPorts            bool     `toml:"enable_unprivileged_ports"`
	EnableUnprivilegedICMP             bool     `toml:"enable_unprivileged_icmp"`
	EnableCDI                          *bool    `toml:"enable_cdi"`
	CDISpecDirs                        []string `toml:"cdi_spec_dirs"`
	DrainExecSyncIOTimeout             string   `toml:"drain_exec_sync_io_timeout"`
	IgnoreDeprecationWarnings          []string `toml:"ignore_deprecation_warnings"`
	StatsCollectPeriod                 string   `toml:"stats_collect_period"`
	StatsRetentionPeriod               string   `toml:"stats_retention_period"`
	EnableCRIU                         *bool    `toml:"enable_criu"`
	EnableExperimentalRestoreViaCreate bool     `toml:"enable_experimental_restore_via_create"`
}

// ImagePlatform is one entry of runtime_platforms.
type ImagePlatform struct {
	Platform    string `toml:"platform"`
	Snapshotter string `toml:"snapshotter"`
}

// ImagePlugin is the section of io.containerd.cri.v1.images in 2.x.
type ImagePlugin struct {
	Snapshotter                string                   `toml:"snapshotter"`
	DisableSnapshotAnnotations bool                     `toml:"disable_snapshot_annotations"`
	DiscardUnpackedLayers      bool                     `toml:"discard_unpacked_layers"`
	PinnedImages               map[string]string        `toml:"pinned_images"`
	RuntimePlatforms           map[string]ImagePlatform `toml:"runtime_platforms"`
	Registry                   Registry                 `toml:"registry"`
	ImageDecryption            `toml:"image_decryption"`
	MaxConcurrentDownloads     int    `toml:"max_concurrent_downloads"`
	ConcurrentLayerFetchBuffer int    `toml:"concurrent_layer_fetch_buffer"`
	ImagePullProgressTimeout   string `toml:"image_pull_progress_timeout"`
	ImagePullWithSyncFs        bool   `toml:"image_pull_with_sync_fs"`
	StatsCollectPeriod         int    `toml:"stats_collect_period"`
	UseLocalImagePull          bool   `toml:"use_local_image_pull"`
}

// ServerPlugin is the section of io.containerd.grpc.v1.cri in 2.x.
type ServerPlugin struct {
	DisableTCPService   bool   `toml:"disable_tcp_service"`
	StreamServerAddress string `toml:"stream_server_address"`
	StreamServerPort    string `toml:"stream_server_port"`
	StreamIdleTimeout   string `toml:"stream_idle_timeout"`
	EnableTLSStreaming  bool   `toml:"enable_tls_streaming"`
	KeyPair             `toml:"x509_key_pair_streaming"`
}
