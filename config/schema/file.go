// Package schema holds the shapes that containerd decodes its files into: the
// names and types of fields decide what is a wrong type, and so fatal. Each
// shape has the fields of all versions from 1.6 on; Spans says which versions
// lack one.
package schema

// File is one file. P is the type of a plugin's section: the libraries of
// containerd 1.x and 2.x have different ones.
type File[P any] struct {
	Version          int                        `toml:"version"`
	Root             string                     `toml:"root"`
	State            string                     `toml:"state"`
	TempDir          string                     `toml:"temp"`
	GRPC             GRPC                       `toml:"grpc"`
	TTRPC            TTRPC                      `toml:"ttrpc"`
	Debug            Debug                      `toml:"debug"`
	Metrics          Metrics                    `toml:"metrics"`
	DisabledPlugins  []string                   `toml:"disabled_plugins"`
	RequiredPlugins  []string                   `toml:"required_plugins"`
	Plugins          map[string]P               `toml:"plugins"`
	OOMScore         int                        `toml:"oom_score"`
	Cgroup           Cgroup                     `toml:"cgroup"`
	ProxyPlugins     map[string]ProxyPlugin     `toml:"proxy_plugins"`
	Timeouts         map[string]string          `toml:"timeouts"`
	Imports          []string                   `toml:"imports"`
	StreamProcessors map[string]StreamProcessor `toml:"stream_processors"`
}

// GRPC is the section grpc.
type GRPC struct {
	Address        string `toml:"address"`
	TCPAddress     string `toml:"tcp_address"`
	TCPTLSCA       string `toml:"tcp_tls_ca"`
	TCPTLSCert     string `toml:"tcp_tls_cert"`
	TCPTLSKey      string `toml:"tcp_tls_key"`
	UID            int    `toml:"uid"`
	GID            int    `toml:"gid"`
	MaxRecvMsgSize int    `toml:"max_recv_message_size"`
	MaxSendMsgSize int    `toml:"max_send_message_size"`
}

// TTRPC is the section ttrpc.
type TTRPC struct {
	Address string `toml:"address"`
	UID     int    `toml:"uid"`
	GID     int    `toml:"gid"`
}

// Debug is the section debug.
type Debug struct {
	Address string `toml:"address"`
	UID     int    `toml:"uid"`
	GID     int    `toml:"gid"`
	Level   string `toml:"level"`
	Format  string `toml:"format"`
}

// Metrics is the section metrics.
type Metrics struct {
	Address       string `toml:"address"`
	GRPCHistogram bool   `toml:"grpc_histogram"`
}

// Cgroup is the section cgroup.
type Cgroup struct {
	Path string `toml:"path"`
}

// ProxyPlugin is one entry of proxy_plugins.
type ProxyPlugin struct {
	Type         string            `toml:"type"`
	Address      string            `toml:"address"`
	Platform     string            `toml:"platform"`
	Exports      map[string]string `toml:"exports"`
	Capabilities []string          `toml:"capabilities"`
}

// StreamProcessor is one entry of stream_processors.
type StreamProcessor struct {
	Accepts []string `toml:"accepts"`
	Returns string   `toml:"returns"`
	Path    string   `toml:"path"`
	Args    []string `toml:"args"`
	Env     []string `toml:"env"`
}

// PluginDir is a key that only files up to containerd 2.0 have.
type PluginDir struct {
	PluginDir string `toml:"plugin_dir"`
}

// CommonName is a key of grpc since containerd 2.2.
type CommonName struct {
	GRPC struct {
		TCPTLSCName string `toml:"tcp_tls_common_name"`
	} `toml:"grpc"`
}

// LogTraceID is a key of debug since containerd 2.3.
type LogTraceID struct {
	Debug struct {
		LogTraceID bool `toml:"log_trace_id"`
	} `toml:"debug"`
}
