package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

const migrateLong = `Says what an upgrade of containerd would lose of a host's configuration, and prints
the files as the newer version wants them, as a unified diff: the version, the
tables and keys that have moved, imports that would be looked for elsewhere. Drop-ins
are migrated like the main file, each by itself. Comments and formatting stay.

What comes out is loaded by the rules of the newer version, and compared with what
the older one has of the files: what still differs is told. So are settings that
come into force: containerd 1.x ignores all of a plugin's section in one file when a
later file has the section too, and 2.x merges both.

CONFIG is the main file. Without it, it is found as explain finds it, and so is the
version that runs, without --from.

Nothing is written without --write. With it all files are written or none; each old
one is kept beside the new one, as FILE.runtimegate-TIME, and the commands that put
them back are printed.

Exit code: 0 nothing is lost, or all of it is mended, and no setting comes into force;
1 something would be lost that it cannot mend, or a setting that was ignored comes
into force; 2 could not tell, or could not write.`

const migrateExample = `  # What would an upgrade of this node to 2.4.2 do?
  runtimegate migrate --to 2.4.2

  # A node's file system, mounted at /host
  runtimegate migrate --root /host --from 1.7.27 --to 2.4.2

  # Before the upgrade: drain the node, write the files, upgrade, start
  runtimegate migrate --to 2.4.2 --write

  # The diff alone
  runtimegate migrate --root /host --from 1.7.27 --to 2.4.2 -o diff > node.patch`

// migrateOptions are the flags of one migrate.
type migrateOptions struct {
	explain explainOptions
	config  string
	from    string
	to      string
	dryRun  bool
	write   bool
	// accept are losses, and acceptChanges settings that come into force.
	accept, acceptChanges bool
	output                string
}

func newMigrateCommand() *cobra.Command {
	o := &migrateOptions{}
	cmd := &cobra.Command{
		Use:     "migrate [CONFIG] --to VERSION",
		Short:   "Bring containerd's files to a newer version, with nothing lost",
		Long:    migrateLong,
		Example: migrateExample,
		Args:    atMostOne("CONFIG", "what it imports is read with it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.write && o.dryRun && cmd.Flags().Changed("dry-run") {
				return errors.New("give --write or --dry-run, not both")
			}
			if err := o.check(args); err != nil {
				return oneLine(err)
			}
			return oneLine(o.run(cmd.Context(), cmd.OutOrStdout()))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.to, "to", "", "version of containerd to upgrade to, as 2.4.2")
	flags.StringVar(&o.from, "from", "", "version that the files are for (default: ask the runtime's program, or its CRI socket)")
	flags.StringVar(&o.explain.root, "root", "/", "folder that is the node's root; paths given and printed are those inside it")
	flags.StringVar(&o.config, "config", "", "main file, in place of CONFIG")
	flags.StringVar(&o.explain.workDir, "daemon-workdir", "/", "the daemon's working folder, to which relative imports refer before 1.7.16")
	flags.BoolVar(&o.dryRun, "dry-run", true, "write nothing, which is the default")
	flags.BoolVar(&o.write, "write", false, "write the files, all or none, and keep the old ones beside them")
	flags.BoolVar(&o.accept, "accept-losses", false, "with --write: write even if something is lost that it cannot mend")
	flags.BoolVar(&o.acceptChanges, "accept-changes", false, "with --write: write even if settings come into force that the older version ignored")
	flags.StringVarP(&o.output, "output", "o", "text", "text, diff or json")
	return cmd
}

// check checks the flags.
func (o *migrateOptions) check(args []string) error {
	if len(args) > 0 {
		if o.config != "" && o.config != args[0] {
			return fmt.Errorf("give the main file once, %s or %s", o.config, args[0])
		}
		if o.config = args[0]; o.config == "" {
			return errors.New("CONFIG is empty")
		}
	}
	switch {
	case o.to == "":
		return errors.New("migrate needs --to: the version of containerd to upgrade to, as 2.4.2")
	case !slices.Contains([]string{"text", "diff", "json"}, o.output):
		return fmt.Errorf("--output %q: want text, diff or json", o.output)
	case o.accept && !o.write:
		return errors.New("--accept-losses goes with --write")
	case o.acceptChanges && !o.write:
		return errors.New("--accept-changes goes with --write")
	case !o.dryRun && !o.write:
		return errors.New("to write the files give --write; --dry-run=false alone writes nothing")
	}
	if o.from != "" {
		o.explain.versions = []string{o.from}
	}
	o.explain.programs = "no"
	return nil
}

func (o *migrateOptions) run(ctx context.Context, stdout io.Writer) error {
	root, err := openRoot(o.explain.root)
	if err != nil {
		return fmt.Errorf("--root %s: %w", o.explain.root, err)
	}
	defer root.Close()
	o.explain.root = root.Name()
	view, err := o.upgrade(ctx, hostfs.New(root.FS()))
	if err != nil {
		return err
	}
	if o.write && view.state != lossUnknown {
		if err := o.writeFiles(root, view); err != nil {
			return err
		}
	}
	if err := view.print(stdout, o.output); err != nil {
		return err
	}
	switch {
	case view.state == lossUnknown && view.isMigrated():
		return fmt.Errorf("cannot tell what an upgrade loses: the files are migrated already: %s starts with them, and %s does not", view.upgrade.Unmended.Runtime, view.upgrade.Before.Runtime)
	case view.state == lossUnknown:
		return fmt.Errorf("cannot tell what an upgrade loses: %s does not start with these files: %s; mend that first", view.upgrade.Before.Runtime, view.upgrade.Before.Daemon.Reason)
	case view.state == lossLeft, view.has(config.Change.InForce):
		return &exitError{code: 1}
	}
	return nil
}

// isMigrated says whether the newer version takes the files as they are.
func (m *migration) isMigrated() bool {
	return m.upgrade.Unmended.Daemon.State == config.Running && !slices.ContainsFunc(m.upgrade.Files, func(f config.UpgradedFile) bool { return f.Changed() })
}

// upgrade finds out what there is to say.
func (o *migrateOptions) upgrade(ctx context.Context, host *hostfs.FS) (*migration, error) {
	to, err := config.ParseRuntime(o.to)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	t, runtimes, err := o.explain.decide(ctx, host, o.config)
	if t != nil && t.Runtime == config.CRIO {
		return nil, fmt.Errorf("%s is CRI-O's: only containerd's files are migrated, those of CRI-O stay as they are", t.Path)
	}
	if err != nil {
		return nil, o.inMyFlags(err)
	}
	if len(runtimes) != 1 {
		return nil, fmt.Errorf("--from %q: want one version", o.from)
	}
	opt := o.explain.options(t, runtimes[0])
	opt.NoPrograms = true
	u, err := config.NewUpgrade(host, opt, to)
	if err != nil {
		return nil, err
	}
	return newMigration(t, u, o.explain.note), nil
}

// inMyFlags names in an error of explain's the flag that migrate has.
func (o *migrateOptions) inMyFlags(err error) error {
	return errors.New(versionFlag.Replace(err.Error()))
}

// writeFiles writes what is changed, unless something speaks against it.
func (o *migrateOptions) writeFiles(root *os.Root, m *migration) error {
	for _, f := range m.upgrade.Files {
		switch {
		case f.Problem != "":
			return &exitError{code: 1, err: fmt.Errorf("nothing was written, since %s cannot be edited safely: %s", f.Path, f.Problem)}
		case f.Changed() && f.Generated():
			return &exitError{code: 1, err: fmt.Errorf("nothing was written: %s is written anew at every start; migrate the template beside it", f.Path)}
		}
	}
	if m.state == lossLeft && !o.accept {
		return &exitError{code: 1, err: fmt.Errorf("nothing was written, since something would be lost all the same (%s); see it with --dry-run, and --accept-losses writes", firstOf(m.Left, config.Change.Loss))}
	}
	if m.has(config.Change.InForce) && !o.acceptChanges {
		return &exitError{code: 1, err: fmt.Errorf("nothing was written, since a setting would come into force that was ignored (%s); see all with --dry-run, take out what is not wanted, and --accept-changes writes", firstOf(m.Left, config.Change.InForce))}
	}
	m.root = root.Name()
	w := &fileWriter{root: root, stamp: time.Now().UTC().Format("20060102T150405Z"), patterns: m.patterns()}
	var err error
	m.Written, err = w.write(m.upgrade.Files)
	return err
}
