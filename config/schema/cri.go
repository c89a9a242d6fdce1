package schema

// Runtime is one handler, of all versions.
type Runtime struct {
	Type                  string         `toml:"runtime_type"`
	Path                  string         `toml:"runtime_path"`
	Engine                string         `toml:"runtime_engine"`
	PodAnnotations        []string       `toml:"pod_annotations"`
	ContainerAnnotations  []string       `toml:"container_annotations"`
	Root                  string         `toml:"runtime_root"`
	Options               map[string]any `toml:"options"`
	WithoutHostDevices    bool           `toml:"privileged_without_host_devices"`
	AllDevicesAllowed     bool           `toml:"privileged_without_host_devices_all_devices_allowed"`
	CgroupWritable        bool           `toml:"cgroup_writable"`
	BaseRuntimeSpec       string         `toml:"base_runtime_spec"`
	CNIConfDir            string         `toml:"cni_conf_dir"`
	CNIMaxConfNum         int            `toml:"cni_max_conf_num"`
	Snapshotter           string         `toml:"snapshotter"`
	SandboxMode           string         `toml:"sandbox_mode"`
	Sandboxer             string         `toml:"sandboxer"`
	DisablePauseImagePull bool           `toml:"disable_pause_image_pull"`
	IOType                string         `toml:"io_type"`
}

// CNI is the section cni.
type CNI struct {
	BinDir        string   `toml:"bin_dir"`
	BinDirs       []string `toml:"bin_dirs"`
	ConfDir       string   `toml:"conf_dir"`
	MaxConfNum    int      `toml:"max_conf_num"`
	SetupSerially bool     `toml:"setup_serially"`
	ConfTemplate  string   `toml:"conf_template"`
	IPPreference  string   `toml:"ip_pref"`
	Loopback      bool     `toml:"use_internal_loopback"`
}

// RegistryAuth is a login to a registry.
type RegistryAuth struct {
	Username      string `toml:"username"`
	Password      string `toml:"password"`
	Auth          string `toml:"auth"`
	IdentityToken string `toml:"identitytoken"`
}

// RegistryTLS is how a registry is reached.
type RegistryTLS struct {
	InsecureSkipVerify bool   `toml:"insecure_skip_verify"`
	CAFile             string `toml:"ca_file"`
	CertFile           string `toml:"cert_file"`
	KeyFile            string `toml:"key_file"`
}

// RegistryHost is one entry of registry.configs.
type RegistryHost struct {
	Auth *RegistryAuth `toml:"auth"`
	TLS  *RegistryTLS  `toml:"tls"`
}

// RegistryMirror is one entry of registry.mirrors.
type RegistryMirror struct {
	Endpoints []string `toml:"endpoint"`
}

// Registry is the section registry.
type Registry struct {
	ConfigPath string                    `toml:"config_path"`
	Mirrors    map[string]RegistryMirror `toml:"mirrors"`
	Configs    map[string]RegistryHost   `toml:"configs"`
	Auths      map[string]RegistryAuth   `toml:"auths"`
	Headers    map[string][]string       `toml:"headers"`
}

// ImageDecryption is the section image_decryption.
type ImageDecryption struct {
	KeyModel string `toml:"key_model"`
}

// KeyPair is the section x509_key_pair_streaming.
type KeyPair struct {
	CertFile string `toml:"tls_cert_file"`
	KeyFile  string `toml:"tls_key_file"`
}

// RuncOptions are the options of the runc shim. Containerd names them by the fields of
// a message (api/types/runc/options). It has CriuPath up to 1.7, TaskApi since 2.0.
type RuncOptions struct {
	NoPivotRoot    bool
	NoNewKeyring   bool
	ShimCgroup     string
	IOUID          uint32 `toml:"IoUid"`
	IOGID          uint32 `toml:"IoGid"`
	BinaryName     string
	Root           string
	CriuPath       string
	SystemdCgroup  bool
	CriuImagePath  string
	CriuWorkPath   string
	TaskAPIAddress string `toml:"TaskApiAddress"`
	TaskAPIVersion uint32 `toml:"TaskApiVersion"`
}
