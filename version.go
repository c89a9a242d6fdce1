package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// version is set by the linker: -ldflags="-X main.version=v1.2.3".
var version string

// A buildVersion says what this program is.
type buildVersion struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// thisBuild returns the version that the linker was given, or else the one that
// Go knows: of a module that was installed by its version, or, with its commit,
// of a checkout.
func thisBuild() buildVersion {
	info, _ := debug.ReadBuildInfo()
	return describe(version, info)
}

func describe(stamped string, info *debug.BuildInfo) buildVersion {
	v := buildVersion{GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info != nil {
		if info.Main.Version != "(devel)" {
			v.Version = info.Main.Version
		}
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				v.Commit = setting.Value
			}
		}
	}
	v.Version = cmp.Or(stamped, v.Version, "devel")
	return v
}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return thisBuild().print(cmd.OutOrStdout(), output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "short, json or yaml")
	return cmd
}

func (v buildVersion) print(w io.Writer, output string) error {
	var text []byte
	var err error
	switch output {
	case "":
		text = []byte(v.String())
	case "short":
		text = []byte(v.Version)
	case "json":
		text, err = json.MarshalIndent(v, "", "  ")
	case "yaml":
		if text, err = yaml.Marshal(v); err == nil {
			_, err = w.Write(text)
		}
		return err
	default:
		return fmt.Errorf("-o %q: want short, json or yaml", output)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", text)
	}
	return err
}

// String is one line for people.
func (v buildVersion) String() string {
	commit := ""
	if v.Commit != "" {
		commit = "commit " + v.Commit + ", "
	}
	return fmt.Sprintf("runtimegate %s (%s%s, %s)", v.Version, commit, v.GoVersion, v.Platform)
}
