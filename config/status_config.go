package config

import (
	"encoding/json"
	"fmt"

	"github.com/runtimegate/runtimegate/config/schema"
)

// crioName is the runtimeName of CRI-O.
const crioName = "cri-o"

// A containerdInfo is info["config"] of containerd 1.6 to 2.4: its CRI plugin's
// configuration as the daemon has it (internal/cri/config, v2.4.2).
type containerdInfo struct {
	Runtimes map[string]struct {
		RuntimeType string         `json:"runtimeType"`
		RuntimePath string         `json:"runtimePath"`
		Options     map[string]any `json:"options"`

		WithoutHostDevices   bool     `json:"privileged_without_host_devices"`
		PodAnnotations       []string `json:"PodAnnotations"`
		ContainerAnnotations []string `json:"ContainerAnnotations"`
		BaseRuntimeSpec      string   `json:"baseRuntimeSpec"`
	} `json:"runtimes"`
	DefaultRuntimeName string `json:"defaultRuntimeName"`
}

// A crioInfo is the same of CRI-O since 1.33 (server/runtime_status.go): the
// struct has no names for JSON, so that they are those of Go. Older ones tell
// the pause image only.
type crioInfo struct {
	Runtimes map[string]*struct {
		RuntimeType string
		RuntimePath string
	}
	DefaultRuntime string
	CDISpecDirs    []string
}

// readConfig takes handlers, default and CDI from info["config"]. It returns
// nil when that tells no handlers.
func (s *Status) readConfig(text string) (map[string]Handler, error) {
	if text == "" || text == "null" {
		return nil, nil
	}
	var info struct {
		Containerd  *containerdInfo `json:"containerd"`
		CRIO        *crioInfo       `json:"crio"`
		EnableCDI   *bool           `json:"enableCDI"`
		CDISpecDirs []string        `json:"cdiSpecDirs"`
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return nil, fmt.Errorf("info.config: %w", err)
	}
	switch {
	case info.Containerd != nil:
		if s.RuntimeName == "" {
			s.RuntimeName = "containerd"
		}
		// The key enableCDI is there in 1.7 to 2.3; 2.4 always has CDI on, 1.6
		// knows none and no folders of it.
		on := info.CDISpecDirs != nil
		if info.EnableCDI != nil {
			on = *info.EnableCDI
		}
		s.CDI = &on
		s.DefaultHandler = info.Containerd.DefaultRuntimeName
		if rt, err := ParseRuntime(Containerd + "://" + s.RuntimeVersion); err == nil {
			s.Settings = info.Containerd.settings(rt)
		}
		return info.Containerd.handlers(), nil
	case info.CRIO != nil:
		if s.RuntimeName == "" {
			s.RuntimeName = crioName
		}
		if len(info.CRIO.CDISpecDirs) > 0 {
			on := true
			s.CDI = &on
		}
		s.DefaultHandler = info.CRIO.DefaultRuntime
		return info.CRIO.handlers(), nil
	}
	return nil, nil
}

func (c *containerdInfo) handlers() map[string]Handler {
	handlers := make(map[string]Handler, len(c.Runtimes))
	for name, r := range c.Runtimes {
		binary, _ := r.Options["BinaryName"].(string)
		handlers[name] = Handler{Name: name, RuntimeType: r.RuntimeType, RuntimePath: r.RuntimePath, BinaryName: binary}
	}
	return handlers
}

func (c *containerdInfo) settings(rt Runtime) map[string]map[string]string {
	runtimes := make(map[string]schema.Runtime, len(c.Runtimes))
	for name, r := range c.Runtimes {
		runtimes[name] = schema.Runtime{
			Type: r.RuntimeType, Options: r.Options, WithoutHostDevices: r.WithoutHostDevices, BaseRuntimeSpec: r.BaseRuntimeSpec,
			PodAnnotations: r.PodAnnotations, ContainerAnnotations: r.ContainerAnnotations,
		}
	}
	return settingsOf(rt, runtimes)
}

func (c *crioInfo) handlers() map[string]Handler {
	handlers := make(map[string]Handler, len(c.Runtimes))
	for name, r := range c.Runtimes {
		h := Handler{Name: name}
		if r != nil {
			h.RuntimeType, h.RuntimePath = r.RuntimeType, r.RuntimePath
		}
		handlers[name] = h
	}
	return handlers
}
