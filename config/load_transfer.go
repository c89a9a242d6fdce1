package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

const (
	transferPlugin = "io.containerd.transfer.v1.local"
	bindirVerifier = "io.containerd.image-verifier.v1.bindir"
	differPlugin   = "io.containerd.differ.v1."
)

// An unpacking is an entry of unpack_config, of which the transfer service needs
// all but those that are optional (since 2.3).
type unpacking struct {
	Platform    string `toml:"platform"`
	Snapshotter string `toml:"snapshotter"`
	Differ      string `toml:"differ"`
	Optional    bool   `toml:"optional"`
}

// transfer says why the transfer service does not come up, without which the
// CRI's image plugin does not since 2.1 (plugins/transfer, plugins/cri/images).
func transfer(rt Runtime, out *file2) error {
	if !rt.atLeast(2, 1, 0) {
		return nil
	}
	for name, needed := range map[string]bool{transferPlugin: true, bindirVerifier: !rt.atLeast(2, 3, 0)} {
		if needed && slices.Contains(out.DisabledPlugins, name) {
			return fmt.Errorf("disabled_plugins names %s, which the CRI plugin needs", name)
		}
	}
	entries, err := unpackings(out)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Optional && rt.atLeast(2, 3, 0) {
			continue
		}
		if entry.Platform == "" {
			return errors.New("an entry of unpack_config names no platform")
		}
		if err := snapshotter(entry.Snapshotter, out.ProxyPlugins, out.DisabledPlugins); err != nil {
			return fmt.Errorf("%w, which unpack_config of the transfer service names or has as default", err)
		}
		if entry.Differ == "" {
			entry.Differ = "walking"
		}
		if name := differPlugin + entry.Differ; slices.Contains(out.DisabledPlugins, name) {
			return fmt.Errorf("disabled_plugins names %s, which unpack_config of the transfer service needs", name)
		}
	}
	return nil
}

func unpackings(out *file2) ([]unpacking, error) {
	var section struct {
		Entries []unpacking `toml:"unpack_config"`
	}
	if data, ok := out.Plugins[transferPlugin]; ok {
		text, err := toml.Marshal(data)
		if err != nil {
			return nil, err
		}
		if err := toml.Unmarshal(text, &section); err != nil {
			return nil, err
		}
	}
	if section.Entries == nil {
		section.Entries = []unpacking{{Platform: "linux/amd64", Snapshotter: "overlayfs", Differ: "walking"}}
	}
	return section.Entries, nil
}
