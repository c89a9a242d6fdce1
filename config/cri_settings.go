package config

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/runtimegate/runtimegate/config/schema"
)

// settingsOf are the Settings of handlers. Of options those are told that are one
// string, number or boolean.
func settingsOf(rt Runtime, runtimes map[string]schema.Runtime) map[string]map[string]string {
	all := map[string]map[string]string{}
	for name, r := range runtimes {
		set := map[string]string{}
		put := func(key string, value any) {
			text := settingText(value)
			if !slices.Contains([]string{"", `""`, "false", "0", "[]"}, text) {
				set[key] = text
			}
		}
		put("privileged_without_host_devices", r.WithoutHostDevices)
		put("pod_annotations", r.PodAnnotations)
		put("container_annotations", r.ContainerAnnotations)
		put("base_runtime_spec", r.BaseRuntimeSpec)
		for key, value := range r.Options {
			if r.Type == runcV2 {
				key = keyIn(rt, key, runcOptions(rt))
			}
			if key != "" && key != "BinaryName" { // a Handler has that
				put("options."+key, value)
			}
		}
		all[name] = set
	}
	return all
}

// settingText is a value as TOML has it; "" for what is neither string, number, boolean
// nor a list of strings.
func settingText(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case []string:
		return fmt.Sprintf("%q", v)
	case float64: // as JSON has all numbers
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool, int64, uint64, int:
		return fmt.Sprint(v)
	}
	return ""
}
