package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

const explainLong = `Reads a container runtime's configuration as the runtime itself would at its next
start, and says which runtime handlers come out, where each comes from, what
became of those that do not come out, and what mends it.

CONFIG is the main file; without it the usual places are looked at, those of
containerd, k3s, RKE2, MicroK8s, k0s and CRI-O. The rules differ between the
versions of a runtime: without --runtime-version the containerd of this machine
is asked for its own. Several versions show what an upgrade changes.

Exit code 0: no finding above Info; 1: findings; 2: cannot tell.`

const explainExample = `  # This node
  runtimegate explain

  # What an upgrade would change
  runtimegate explain --runtime-version 1.7.27,2.2.9

  # A node's root mounted at /host
  runtimegate explain --root /host --runtime-version 2.4.2 -o json

  # Which drop-in does it
  runtimegate explain --bisect`

// explainOptions are the flags of one explain.
type explainOptions struct {
	versions   []string
	root       string
	without    []string
	bisect     bool
	output     string
	workDir    string
	searchPath string
}

func newExplainCommand() *cobra.Command {
	o := &explainOptions{}
	cmd := &cobra.Command{
		Use:     "explain [CONFIG]",
		Short:   "Say which runtime handlers a configuration gives, and why",
		Long:    explainLong,
		Example: explainExample,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := ""
			if len(args) > 0 {
				file = args[0]
			}
			return oneLine(o.run(cmd, file))
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.versions, "runtime-version", nil, `version of containerd, or "cri-o 1.37.0"; may be repeated`)
	flags.StringVar(&o.root, "root", "/", "folder that is the host's root; all paths are those inside it")
	flags.StringSliceVar(&o.without, "without", nil, "drop-in, path or name, to leave out; may be repeated")
	flags.BoolVar(&o.bisect, "bisect", false, "load each drop-in alone, and all without each")
	flags.StringVarP(&o.output, "output", "o", "table", "table, json or yaml")
	flags.StringVar(&o.workDir, "workdir", "/", "working folder of the runtime")
	flags.StringVar(&o.searchPath, "path", config.DefaultSearchPath, "PATH of the runtime")
	return cmd
}

// oneExplained is what is said of one version.
type oneExplained struct {
	result *config.Result
	file   string
	bisect []config.Variant
}

func (o *explainOptions) run(cmd *cobra.Command, file string) error {
	if !slices.Contains([]string{"table", "json", "yaml"}, o.output) {
		return fmt.Errorf("--output %q: want table, json or yaml", o.output)
	}
	root, err := os.OpenRoot(o.root)
	if err != nil {
		return fmt.Errorf("--root %s: %w", o.root, pathCause(err))
	}
	defer root.Close()
	host := hostfs.New(root.FS())
	opt, who, err := o.choose(cmd, host, file)
	if err != nil {
		return err
	}
	runtimes, err := o.runtimes(cmd.Context(), opt.Runtime)
	if err != nil {
		return err
	}
	var all []oneExplained
	for _, rt := range runtimes {
		opt.Runtime = rt
		one := oneExplained{file: opt.Path}
		if one.result, err = config.Load(host, opt); err != nil {
			return err
		}
		if o.bisect {
			if one.bisect, err = config.Bisect(host, opt, one.result); err != nil {
				return err
			}
		}
		all = append(all, one)
	}
	return o.print(cmd, all, who)
}

// choose finds the main file and the kind of runtime it is for.
func (o *explainOptions) choose(cmd *cobra.Command, host *hostfs.FS, file string) (config.Options, string, error) {
	opt := config.Options{Path: file, WorkDir: o.workDir, SearchPath: o.searchPath, Without: o.without}
	name, err := o.runtimeName()
	if err != nil {
		return opt, "", err
	}
	if file != "" {
		opt.Path, err = o.inside(file)
		if err != nil {
			return opt, "", err
		}
		if name == "" && strings.Contains(opt.Path, "crio") {
			name = config.CRIO
		}
		opt.Runtime.Name = name
		// CRI-O does without its main file at the usual place, told or not.
		opt.PathOptional = name == config.CRIO && opt.Path == config.DefaultCRIOPath
		if host.IsDir(opt.Path) {
			return opt, "", fmt.Errorf("%s is a folder: name the main file", opt.Path)
		}
		return opt, "", nil
	}
	found := config.Locate(host, name)
	if len(found) == 0 {
		at := config.Location{Path: config.DefaultConfigPath, Runtime: config.Containerd}
		if name == config.CRIO {
			at = config.Location{Path: config.DefaultCRIOPath, Runtime: config.CRIO}
		}
		found = append(found, at)
	}
	opt.Path, opt.Runtime.Name, opt.PathOptional = found[0].Path, found[0].Runtime, !found[0].Told
	who := found[0].Who
	for _, other := range found[1:] {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s is there too (%s): name it to have it explained\n", other.Path, other.Who)
	}
	return opt, who, nil
}

// inside makes the path of the main file one inside the root.
func (o *explainOptions) inside(file string) (string, error) {
	if path.IsAbs(file) {
		return path.Clean(file), nil
	}
	if o.root != "/" {
		return "", fmt.Errorf("config file %q: with --root, want an absolute path inside it", file)
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return path.Join(wd, file), nil
}

// runtimeName is the runtime that --runtime-version names, "" when it leaves
// that open.
func (o *explainOptions) runtimeName() (string, error) {
	name, bare := "", false
	for _, v := range o.versions {
		rt, err := config.ParseRuntime(v)
		if err != nil {
			return "", fmt.Errorf("--runtime-version: %w", err)
		}
		if rt.Name == config.Containerd && !strings.Contains(v, config.Containerd) {
			bare = true
			continue
		}
		if name != "" && name != rt.Name || bare && rt.Name == config.CRIO {
			return "", errors.New("--runtime-version names containerd and CRI-O: explain one at a time")
		}
		name = rt.Name
	}
	return name, nil
}
