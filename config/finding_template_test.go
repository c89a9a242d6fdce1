package config

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// TestTemplate: what is said of templates of k3s and RKE2.
func TestTemplate(t *testing.T) {
	const dir, plugin = "var/lib/rancher/k3s/agent/etc/containerd/", `plugins."io.containerd.grpc.v1.cri"`
	const now = "version = 2\n[" + plugin + "]\n  sandbox_image = 'mirror/pause'\n"
	tests := map[string]struct {
		runtime, template, v3 string
		want                  string // severity, and a part of the message
	}{
		"none":                                {"1.7.27", "", "", ""},
		"one that begins with the base":       {"1.7.27", "{{- template \"base\" . -}}\n[x]\n", "", ""},
		"the base behind a comment of TOML":   {"1.7.27", "# {{ template \"base\" . }}\n", "", ""},
		"the base if something is so":         {"1.7.27", "{{ if .Program }}{{ else }}{{ template \"base\" . }}{{ end }}\n", "", ""},
		"the base by another template":        {"1.7.27", "{{ define \"mine\" }}{{ template \"base\" . }}{{ template \"mine\" . }}{{ end }}{{ template \"mine\" . }}\n", "", ""},
		"the base in a comment":               {"1.7.27", "{{/* {{ template \"base\" . }} */}}\n[x]\n", "", "Info what newer versions add"},
		"the base in what nobody calls":       {"1.7.27", "{{ define \"mine\" }}{{ template \"base\" . }}{{ end }}\n", "", "Info what newer versions add"},
		"no template":                         {"1.7.27", "version = 2\n{{ template \"base\" . }\n", "", "Error k3s writes config.toml from this template at every start, and does not start with it: "},
		"the base of another time":            {"1.7.27", "version = 2\n{{ if .NodeConfig }}{{ end }}\n", "", "Info what newer versions add"},
		"what is there now":                   {"1.7.27", now, "", "Info what k3s sets by itself"},
		"a setting less":                      {"1.7.27", "version = 2\n", "", `Warning after the next one "io.containerd.cri.v1.images".pinned_images.sandbox is not set and was "mirror/pause"`},
		"one that 1.7 does not read":          {"1.7.27", "version = 3\n", "", "Error after the next one containerd 1.7.27 would not start"},
		"no TOML":                             {"1.7.27", "[", "", "Error after the next one containerd 1.7.27 would not start"},
		"that of containerd 2 comes first":    {"2.0.5", "[", `{{ template "base" . }}`, ""},
		"containerd 2 takes the old one, too": {"2.0.5", "[", "", "Error after the next one containerd 2.0.5 would not start"},
		"1.7 does not look at the new one":    {"1.7.27", `{{ template "base" . }}`, "[", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{dir + "config.toml": {Data: []byte(now)}}
			for file, text := range map[string]string{"config.toml.tmpl": tt.template, "config-v3.toml.tmpl": tt.v3} {
				if text != "" {
					files[dir+file] = &fstest.MapFile{Data: []byte(text)}
				}
			}
			r, err := Load(hostfs.New(files), Options{Runtime: mustRuntime(t, tt.runtime), Path: "/" + dir + "config.toml", NoPrograms: true})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == CodeTemplateReplacesBase }); i >= 0 {
				got = string(r.Findings[i].Severity) + " " + r.Findings[i].Message
			}
			severity, text, _ := strings.Cut(tt.want, " ")
			if !strings.HasPrefix(got, severity) || !strings.Contains(got, text) || (tt.want == "") != (got == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
