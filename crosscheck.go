package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/runtimegate/runtimegate/config"
)

const crosscheckLong = `Compares the handlers that RuntimeClasses ask for with those that a
"containerd config dump", or the running runtime, has, and prints the ones it
lacks:

  MISSING=<handler>   one line for each, sorted; exit code 1
  OK                  nothing is missing; exit code 0
  RESTART=<handler>   with --cri, below the others: the files define it, and the
                      runtime has not loaded it; changes no exit code

When it cannot tell, it prints nothing to stdout, one line that says why to
stderr, and exits with 2. All else it has to say goes to stderr.

The dump is the file DUMP, stdin for "-", or, without an argument, what
"containerd config dump" prints on this machine. The RuntimeClasses are those of
the cluster, unless -f or --require say what is wanted: then no cluster is asked.

A dump shows what containerd would load at its next start, not what it has loaded.
With --cri the running runtime is asked instead, on its CRI socket: the one given,
that of the kubelet, or a known one.`

const crosscheckExample = `  # On a node, against the cluster's RuntimeClasses
  runtimegate crosscheck

  # A dump taken elsewhere, against manifests
  runtimegate crosscheck node-a.toml -f runtimeclasses/ -R

  # At boot, with no cluster
  runtimegate crosscheck --require nvidia,kata-qemu

  # What has the running runtime really loaded?
  runtimegate crosscheck --cri
  runtimegate crosscheck --cri /run/crio/crio.sock`

// crosscheckOptions are the flags of one crosscheck.
type crosscheckOptions struct {
	files     []string
	recursive bool
	require   []string
	cri       string
	observed  nodeOptions
	cluster   *genericclioptions.ConfigFlags
}

func newCrosscheckCommand() *cobra.Command {
	o := &crosscheckOptions{cluster: newClusterFlags(true)}
	cmd := &cobra.Command{
		Use:     "crosscheck [DUMP|-|--cri [ENDPOINT]]",
		Short:   "Print the handlers that RuntimeClasses ask for and a dump or the running runtime lacks",
		Long:    crosscheckLong,
		Example: crosscheckExample,
		Args:    atMostOne("DUMP", "manifests need -f before each"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dump := ""
			if len(args) > 0 {
				dump = args[0]
			}
			return oneLine(o.run(cmd, dump, len(args) > 0))
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "manifest file or folder with RuntimeClasses, - for stdin; may be repeated")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "read the folders given with -f recursively")
	flags.StringArrayVar(&o.require, "require", nil, "handlers that must be there, separated by commas; may be repeated")
	flags.StringVar(&o.cri, "cri", "", "ask the running runtime on `ENDPOINT`, or on the socket that is found")
	flags.Lookup("cri").NoOptDefVal = findSocket
	o.observed.addFlags(flags)
	o.cluster.AddFlags(flags)
	return cmd
}

func (o *crosscheckOptions) run(cmd *cobra.Command, dumpArg string, given bool) error {
	if err := o.checkCRI(dumpArg, given); err != nil {
		return err
	}
	if err := o.checkStdin(dumpArg); err != nil {
		return err
	}
	// What is wanted comes first: a typing error there is told at once.
	done := progress(cmd.ErrOrStderr(), "reading RuntimeClasses")
	wants, stray, err := o.wants(cmd.Context(), cmd.InOrStdin())
	done()
	if err != nil {
		return err
	}
	if len(stray) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: "+strayNote+"\n", stray[0], andMore(len(stray)-1, "document"))
	}
	if o.cri != "" {
		return o.runCRI(cmd, wants)
	}
	var dump *config.Dump
	if given {
		dump, err = readDumpArgument(dumpArg, cmd.InOrStdin())
	} else {
		dump, err = dumpOfContainerd(cmd.Context(), cmd.ErrOrStderr())
	}
	if err != nil {
		return err
	}
	return answer(judged{Source: dump, name: dump.Name, notes: slices.Concat(dump.Notes, brokenNotes(dump, wants))}, wants, cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// checkStdin refuses to read two things from one stdin.
func (o *crosscheckOptions) checkStdin(dumpArg string) error {
	readers := 0
	if dumpArg == "-" {
		readers++
	}
	for _, f := range o.files {
		if f == "-" {
			readers++
		}
	}
	if readers > 1 {
		return errors.New(`stdin can be read once: give only one "-", for the dump or for -f`)
	}
	return nil
}

// wants collects the handlers that are asked for, and the places of what in folders is
// no object.
func (o *crosscheckOptions) wants(ctx context.Context, stdin io.Reader) (wants []config.Want, stray []string, err error) {
	for _, list := range o.require {
		for name := range strings.SplitSeq(list, ",") {
			name = strings.TrimSpace(name)
			if err := checkHandlerName(name); err != nil {
				return nil, nil, fmt.Errorf("--require %q: %w", list, err)
			}
			wants = append(wants, config.Want{Handler: name, By: "--require"})
		}
	}
	for _, file := range o.files {
		classes, more, err := readRuntimeClasses(file, o.recursive, stdin)
		if err != nil {
			return nil, nil, err
		}
		stray = append(stray, more...)
		for _, c := range classes {
			wants = append(wants, config.Want{Handler: c.handler, By: fmt.Sprintf("RuntimeClass %q (%s)", c.name, c.place)})
		}
	}
	if len(o.require) > 0 || len(o.files) > 0 {
		return wants, stray, nil
	}
	wants, err = clusterWants(ctx, o.cluster)
	return wants, nil, err
}

// A judged is what is compared with what is wanted.
type judged struct {
	config.Source
	name string
	// notes are remarks on it for people.
	notes []string
	// restart are handlers that a restart of the runtime would bring.
	restart []string
}

// answer prints the outcome and returns the exit code that goes with it.
func answer(source judged, wants []config.Want, stdout, stderr io.Writer) error {
	note := func(format string, args ...any) { fmt.Fprintf(stderr, "note: "+format+"\n", args...) }
	for _, n := range source.notes {
		note("%s", n)
	}
	if len(wants) == 0 {
		note("no RuntimeClass to check: nothing is asked for, so nothing is missing")
	}
	missing, unknown := config.Crosscheck(source, wants)
	if len(unknown) > 0 && len(missing) == 0 {
		return fmt.Errorf("%s; cannot tell whether handler %s is there", unknown[0].Why, lackNames(unknown))
	}
	for _, l := range unknown {
		note("%s; cannot tell whether handler %q is there, which %s asks for", l.Why, l.Handler, some(l.By))
	}
	for _, l := range missing {
		hint := "define it in containerd's configuration and restart containerd"
		if slices.Contains(source.restart, l.Handler) {
			hint = "its files define it: restart the runtime"
		} else if l.Nearest != "" {
			hint = fmt.Sprintf("did you mean %q?", l.Nearest)
		}
		note("%s lacks handler %q, asked for by %s; it has %s; %s", source.name, l.Handler, some(l.By), someNames(source.Names()), hint)
	}
	return printAnswer(stdout, missing, source.restart)
}

// printAnswer prints what programs read.
func printAnswer(stdout io.Writer, missing []config.Lack, restart []string) error {
	var lines strings.Builder
	if len(missing) == 0 {
		lines.WriteString("OK\n")
	}
	for _, l := range missing {
		fmt.Fprintf(&lines, "MISSING=%s\n", l.Handler)
	}
	for _, name := range restart {
		fmt.Fprintf(&lines, "RESTART=%s\n", name)
	}
	if _, err := io.WriteString(stdout, lines.String()); err != nil {
		return err
	}
	if len(missing) > 0 {
		return &exitError{code: 1}
	}
	return nil
}

// brokenNotes name the wanted handlers that are there but can start nothing.
func brokenNotes(dump *config.Dump, wants []config.Want) (notes []string) {
	told := map[string]bool{}
	for _, w := range wants {
		h, ok := dump.Handler(w.Handler)
		if ok && h.RuntimeType == "" && !told[h.Name] {
			told[h.Name] = true
			notes = append(notes, fmt.Sprintf("%s: handler %q has an empty runtime_type: it counts as present, but no sandbox of it can start", dump.Name, h.Name))
		}
	}
	return notes
}

// lackNames names the first of some lacks and counts the others.
func lackNames(lacks []config.Lack) string {
	s := fmt.Sprintf("%q", lacks[0].Handler)
	if n := len(lacks) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

const maxSamples = 3

// some joins the first few entries of a list and counts the others.
func some(list []string) string {
	if n := len(list) - maxSamples; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxSamples], ", "), n)
	}
	return strings.Join(list, ", ")
}

func someNames(names []string) string {
	if len(names) == 0 {
		return "no handler"
	}
	quoted := slices.Clone(names)
	for i, n := range quoted {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return some(quoted)
}

// oneLine keeps the promise that an error is one line, whatever a library
// put into it.
func oneLine(err error) error {
	var exit *exitError
	if err == nil || errors.As(err, &exit) || !strings.ContainsAny(err.Error(), "\n\r") {
		return err
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}
