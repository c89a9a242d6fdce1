package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

const explainLong = `Says what a container runtime would load from its configuration files at its next
start, and why: which files it reads, where each handler comes from and what
became of it, which Pods depend on it, what is wrong and how to mend it.

CONFIG is the main file. Without it, the files of k3s, RKE2, MicroK8s, k0s,
containerd (` + config.DefaultConfigPath + `) and CRI-O are looked for.

The rules differ from version to version of the runtime. Without
--runtime-version the runtime's program on this machine is asked, or else the
runtime that listens on its CRI socket. Several versions show what an upgrade
changes.

The files are read as the runtime does at its start: what the running daemon has
loaded may be older.

Exit code: 0 no finding above Info, 1 findings, 2 could not tell.`

const explainExample = `  # This node
  runtimegate explain

  # A node's file system, mounted at /host, and what an upgrade would change
  runtimegate explain --root /host --runtime-version 1.7.27,2.4.2

  # Which drop-in took the handlers away?
  runtimegate explain --bisect
  runtimegate explain --without zz-registry.toml`

// explainOptions are the flags of one explain.
type explainOptions struct {
	root      string
	runtime   string
	versions  []string
	without   []string
	configDir string
	path      string
	workDir   string
	programs  string
	bisect    bool
	output    string

	// note says where the version is from, where that matters.
	note string
}

func newExplainCommand() *cobra.Command {
	o := &explainOptions{}
	cmd := &cobra.Command{
		Use:     "explain [CONFIG]",
		Short:   "Say what a runtime would load from its configuration files, and why",
		Long:    explainLong,
		Example: explainExample,
		Args:    atMostOne("CONFIG", "what it imports is read with it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			given := ""
			if len(args) > 0 {
				if given = args[0]; given == "" {
					return errors.New("CONFIG is empty")
				}
			}
			return oneLine(o.run(cmd.Context(), given, cmd.OutOrStdout()))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.root, "root", "/", "folder that is the node's root; paths given and printed are those inside it")
	flags.StringVar(&o.runtime, "runtime", "", "containerd or crio (default: by the configuration found)")
	flags.StringArrayVar(&o.versions, "runtime-version", nil, "version whose rules apply, as 2.4.2, v2.4.2 or containerd://2.4.2; several, separated by commas or repeated, are compared (default: ask the runtime's program, or its CRI socket)")
	flags.StringArrayVar(&o.without, "without", nil, "drop-in to take as absent, by path or base name; may be repeated")
	flags.BoolVar(&o.bisect, "bisect", false, "load with each drop-in left out, with each one alone, and with none")
	flags.StringVar(&o.configDir, "config-dir", "", "CRI-O's folder of drop-ins (default: CONFIG with .d behind it)")
	flags.StringVar(&o.path, "daemon-path", "", "the daemon's PATH, where shims and OCI runtimes are looked for (default: the usual one of the installation)")
	flags.StringVar(&o.workDir, "daemon-workdir", "/", "the daemon's working folder, to which shims and, before 1.7.16, relative imports refer")
	flags.StringVar(&o.programs, "programs", "auto", "look for shims and OCI runtimes: yes, no, or auto: when the configuration is one of this root's own daemon")
	flags.StringVarP(&o.output, "output", "o", "table", "table, json or yaml")
	return cmd
}

// errFindings is the exit code of findings; they have been printed.
var errFindings = &exitError{code: 1}

func (o *explainOptions) run(ctx context.Context, given string, stdout io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	host, closeHost, err := o.open()
	if err != nil {
		return err
	}
	defer closeHost()
	t, runtimes, err := o.decide(ctx, host, given)
	if err != nil {
		return err
	}
	var views []*explanation
	for _, rt := range runtimes {
		v, err := o.explain(host, t, rt)
		if err != nil {
			return err
		}
		if len(views) > 0 {
			v.Changes = changesBetween(views[len(views)-1], v)
		}
		views = append(views, v)
	}
	if err := writeExplanations(stdout, o.output, views); err != nil {
		return err
	}
	for _, v := range views {
		if v.needsMending() {
			return errFindings
		}
	}
	return nil
}

func (o *explainOptions) check() error {
	if !slices.Contains([]string{"table", "json", "yaml"}, o.output) {
		return fmt.Errorf("--output %q: want table, json or yaml", o.output)
	}
	if !slices.Contains([]string{"auto", "yes", "no"}, o.programs) {
		return fmt.Errorf("--programs %q: want auto, yes or no", o.programs)
	}
	return nil
}

// open opens the root. os.Root keeps every path inside it.
func (o *explainOptions) open() (*hostfs.FS, func(), error) {
	root, err := openRoot(o.root)
	if err != nil {
		return nil, nil, fmt.Errorf("--root %s: %w", o.root, err)
	}
	o.root = root.Name()
	return hostfs.New(root.FS()), func() { root.Close() }, nil
}

// decide finds out which configuration of which runtime in which versions.
func (o *explainOptions) decide(ctx context.Context, host *hostfs.FS, given string) (*target, []config.Runtime, error) {
	runtime, err := runtimeName(o.runtime)
	if err != nil {
		return nil, nil, err
	}
	versions, versionsOf, err := splitVersions(o.versions)
	if err != nil {
		return nil, nil, err
	}
	if runtime != "" && versionsOf != "" && runtime != versionsOf {
		return nil, nil, fmt.Errorf("--runtime says %s and --runtime-version %s", runtime, versionsOf)
	}
	if runtime == "" {
		runtime = versionsOf
	}
	if given != "" {
		if given, err = hostPath(o.root, given); err != nil {
			return nil, nil, err
		}
	}
	if inside, ok := strings.CutPrefix(given, o.root+"/"); ok && o.root != "/" && !host.Exists(given) && host.Exists("/"+inside) {
		return nil, nil, fmt.Errorf("%s: paths are those inside --root: did you mean /%s?", given, inside)
	}
	if given != "" && host.IsDir(given) {
		return nil, nil, fmt.Errorf("%s is a folder: name the main file", given)
	}
	t, err := findTarget(host, given, runtime)
	if err != nil {
		return nil, nil, err
	}
	if err := o.absoluteWithout(); err != nil {
		return nil, nil, err
	}
	runtimes, err := o.runtimes(ctx, host, t, versions)
	return t, runtimes, err
}

// absoluteWithout makes the paths of --without those of the host. A bare name
// stands for the drop-in of that name, wherever it is.
func (o *explainOptions) absoluteWithout() error {
	for i, name := range o.without {
		if name == "" || name == "/" {
			return fmt.Errorf("--without %q: want the path or name of a drop-in", name)
		}
		if path.Base(name) == name {
			continue
		}
		abs, err := hostPath(o.root, name)
		if err != nil {
			return err
		}
		o.without[i] = abs
	}
	return nil
}

// options are those of one load.
func (o *explainOptions) options(t *target, rt config.Runtime) config.Options {
	opt := t.options(rt)
	opt.Without, opt.WorkDir = o.without, o.workDir
	if o.configDir != "" {
		opt.DropInDir = path.Join("/", o.configDir)
		if abs, err := hostPath(o.root, o.configDir); err == nil {
			opt.DropInDir = abs
		}
	}
	if o.path != "" {
		opt.SearchPath = o.path
	}
	return opt
}

// explain loads the target as rt would.
func (o *explainOptions) explain(host *hostfs.FS, t *target, rt config.Runtime) (*explanation, error) {
	opt := o.options(t, rt)
	probe, note := o.mayProbe(host, t, opt)
	opt.NoPrograms = !probe
	r, err := config.Load(host, opt)
	if err != nil {
		return nil, err
	}
	if err := o.checkWithout(host, opt); err != nil {
		return nil, err
	}
	v := newExplanation(t, r)
	v.Without = o.without
	for _, note := range []string{o.note, note} {
		if note != "" {
			v.Notes = append(v.Notes, note)
		}
	}
	v.finish()
	if o.bisect {
		if v.Bisect, err = bisect(host, opt); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// checkWithout refuses a drop-in that is not read anyway: a typing error there
// would answer another question than the one asked.
func (o *explainOptions) checkWithout(host *hostfs.FS, opt config.Options) error {
	if len(opt.Without) == 0 {
		return nil
	}
	all, err := dropIns(host, opt)
	if err != nil {
		return err
	}
	for _, name := range opt.Without {
		if !slices.ContainsFunc(all, func(p string) bool { return p == name || path.Base(p) == name }) {
			return fmt.Errorf("--without %s: %s reads no such drop-in", name, opt.Path)
		}
	}
	return nil
}
