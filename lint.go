package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/runtimegate/runtimegate/webhook"
)

const lintLong = `Says what the webhook would say of manifests, with no webhook there: whether the
nodes that their Pods may land on have loaded the handlers they ask for.

It judges by the cluster that kubectl would talk to, or by a snapshot of one:

  kubectl get nodes,noderuntimes,runtimeclasses,runtimepolicies,namespaces -o yaml

RuntimeClasses, RuntimePolicies and Namespaces among the manifests count as
applied first, in place of those of the same name in the cluster.

  exit code 0   nothing is denied (with --fail-on Warn: nor warned of)
            1   something is
            2   it cannot tell of everything: stderr says why; what it can tell is
                printed all the same`

const lintExample = `  # Against the cluster, folders below included
  runtimegate lint -R -f deploy/

  # In a pipeline, with no access to the cluster
  helm template chart/ | runtimegate lint -f - --snapshot cluster.yaml --fail-on Warn

  # On the lines of a pull request
  runtimegate lint -R -f deploy/ --snapshot cluster.yaml -o github
  runtimegate lint -R -f deploy/ --snapshot cluster.yaml -o sarif > runtimegate.sarif`

// maxSnapshotBytes bounds a snapshot: that of 5 000 nodes has about 75 MB.
const maxSnapshotBytes = 512 << 20

// lintOptions are the flags of lint.
type lintOptions struct {
	files     []string
	recursive bool
	snapshots []string
	snapshot  string
	now       string
	failOn    string
	output    string
	gate      gateFlags
	cluster   *genericclioptions.ConfigFlags
}

func newLintCommand() *cobra.Command {
	o := &lintOptions{cluster: newClusterFlags(true)}
	cmd := &cobra.Command{
		Use:     "lint -f FILE|DIR|-",
		Short:   "Judge manifests as the webhook would",
		Long:    lintLong,
		Example: lintExample,
		Args:    onlyFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return oneLine(o.run(cmd))
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "manifest file or folder, - for stdin; may be repeated")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "read the folders given with -f recursively")
	flags.StringArrayVar(&o.snapshots, "snapshot", nil, "file to judge by in place of the cluster, - for stdin")
	flags.StringVar(&o.now, "now", "", "time at which to judge by the snapshot, as 2006-01-02T15:04:05Z (default: the clock)")
	flags.StringVar(&o.failOn, "fail-on", webhook.Deny.String(), "mildest action that makes the exit code 1: Deny or Warn")
	flags.StringVarP(&o.output, "output", "o", "text", "text, json, yaml, or what CI systems read: sarif, github (workflow commands) or junit")
	o.gate.addTo(cmd)
	o.cluster.AddFlags(flags)
	return cmd
}

// onlyFiles says how files are named: a shell makes arguments of the others where -f
// stands before a pattern.
func onlyFiles(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q stands without -f: give -f before each file, or once with their folder", args[0])
	}
	return nil
}

// A linter is one run of lint.
type linter struct {
	*lintOptions
	cmd     *cobra.Command
	scheme  *runtime.Scheme
	gate    webhook.Options // the flags of that name, checked
	failOn  webhook.Action
	time    time.Time // at which all is judged
	faults  []error
	objects []readObject
	// namespace is that of objects which name none.
	namespace string
}

func (o *lintOptions) run(cmd *cobra.Command) error {
	l, err := o.linter(cmd)
	if err != nil {
		return err
	}
	// What is wrong with the manifests is told even if there is no cluster.
	l.readManifests()
	state, err := l.state(cmd.Context())
	if err != nil {
		return err
	}
	results := l.judge(cmd.Context(), state)
	if l.snapshot != "" && state.ClassCount() == 0 && slices.ContainsFunc(results, lintResult.isRejected) {
		l.note("neither %s nor the manifests hold a RuntimeClass", l.snapshot)
	}
	out := &lintOutput{results: results, faults: l.faults, failOn: l.failOn}
	if err := lintForms[o.output](out, cmd.OutOrStdout()); err != nil {
		return err
	}
	switch {
	case len(l.faults) > 0:
		return &exitError{code: 2}
	case slices.ContainsFunc(results, func(r lintResult) bool { return r.action >= l.failOn }):
		return &exitError{code: 1}
	}
	return nil
}

// linter checks the flags.
func (o *lintOptions) linter(cmd *cobra.Command) (*linter, error) {
	switch len(o.snapshots) {
	case 0:
	case 1:
		o.snapshot = o.snapshots[0]
	default:
		return nil, errors.New("--snapshot is given more than once: put all into one file, as documents one after the other")
	}
	l := &linter{lintOptions: o, cmd: cmd, time: time.Now()}
	stdins := 0
	for _, file := range append([]string{o.snapshot}, o.files...) {
		if file == "-" {
			stdins++
		}
	}
	switch {
	case len(o.files) == 0:
		return nil, errors.New("lint needs -f: a manifest file or folder, or - for stdin")
	case stdins > 1:
		return nil, errors.New(`stdin can be read once: give only one "-", for -f or for --snapshot`)
	case lintForms[o.output] == nil:
		return nil, fmt.Errorf("--output %q: want text, json, yaml, sarif, github or junit", o.output)
	case o.now != "" && o.snapshot == "":
		return nil, errors.New("--now goes with --snapshot")
	}
	var err error
	if o.now != "" {
		if l.time, err = time.Parse(time.RFC3339, o.now); err != nil {
			return nil, fmt.Errorf("--now %q: want a time such as 2006-01-02T15:04:05Z", o.now)
		}
	}
	if l.failOn, err = parseAction("--fail-on", o.failOn, webhook.Deny, webhook.Warn); err != nil {
		return nil, err
	}
	if l.gate, err = o.gate.options(); err != nil {
		return nil, err
	}
	l.scheme, err = newScheme()
	return l, err
}

func (l *linter) note(format string, args ...any) {
	fmt.Fprintln(l.cmd.ErrOrStderr(), "note:", printable(fmt.Sprintf(format, args...)))
}

// fault tells of something that keeps it from judging all.
func (l *linter) fault(err error) {
	l.faults = append(l.faults, err)
	fmt.Fprintln(l.cmd.ErrOrStderr(), "error:", printable(oneLine(err).Error()))
}

// readManifests reads the objects that matter of all files.
func (l *linter) readManifests() {
	reader := &objectReader{
		scheme:  l.scheme,
		kinds:   manifestKinds,
		fault:   l.fault,
		unknown: func(err error) { l.note("%v", err) },
	}
	reader.readManifests(l.files, l.recursive, l.cmd.InOrStdin(), l.note)
	if reader.seen+reader.emptyLists+len(l.faults) == 0 {
		// A pipe that broke must not pass for one in which all is well.
		l.fault(errors.New("no Kubernetes object in what -f names"))
	}
	l.objects = reader.objects
}

// state returns the state to judge by, with the manifests applied.
func (l *linter) state(ctx context.Context) (*webhook.State, error) {
	state := webhook.NewState(l.gate)
	read := l.readCluster
	if l.snapshot != "" {
		read = l.readSnapshot
	}
	if err := read(ctx, state); err != nil {
		return nil, err
	}
	for i := range l.objects {
		object := &l.objects[i]
		object.refused = state.Refuses(object.Object)
		if err := state.Apply(object.Object); err != nil {
			l.fault(object.at.errorf(object.path, "%w", err))
		}
	}
	return state, nil
}

func (l *linter) readCluster(ctx context.Context, state *webhook.State) error {
	cfg, err := clusterConfigOr(l.cluster, "a snapshot of it with --snapshot")
	if err != nil {
		return err
	}
	if l.namespace, _, err = l.cluster.ToRawKubeConfigLoader().Namespace(); err != nil {
		return fmt.Errorf("kubeconfig: %w", kubeconfigError(err))
	}
	defer progress(l.cmd.ErrOrStderr(), "reading %s", cfg.Host)()
	return readCluster(ctx, cfg, l.scheme, state, l.note)
}

func (l *linter) readSnapshot(_ context.Context, state *webhook.State) error {
	l.namespace = cmp.Or(*l.cluster.Namespace, metav1.NamespaceDefault)
	in, name := l.cmd.InOrStdin(), stdinName
	if l.snapshot != "-" {
		file, err := os.Open(l.snapshot)
		if err != nil {
			return fmt.Errorf("--snapshot %s: %w", l.snapshot, pathCause(err))
		}
		defer file.Close()
		in, name = file, l.snapshot
	}
	if err := readSnapshot(in, name, l.scheme, state, l.note); err != nil {
		return err
	}
	if stale, all := state.StaleReports(l.time); stale > 0 && l.now == "" {
		l.note("%s: %d of %d NodeRuntimes are older than --stale-after %s and do not count; --now TIME judges by the time at which the snapshot was taken", name, stale, all, l.gate.Inventory.StaleAfter)
	}
	return nil
}

// readSnapshot applies to a state all that a snapshot holds. With any part of it
// unread a verdict might be wrong, so that the first error is the end.
func readSnapshot(in io.Reader, name string, scheme *runtime.Scheme, state *webhook.State, note func(string, ...any)) error {
	_, err := readSnapshotWith(in, name, scheme, stateKinds, state, note)
	return err
}

// readSnapshotWith is readSnapshot for a command that wants objects of more kinds,
// which it returns.
func readSnapshotWith(in io.Reader, name string, scheme *runtime.Scheme, kinds []schema.GroupVersionKind, state *webhook.State, note func(string, ...any)) ([]readObject, error) {
	var faults []error
	reader := &objectReader{scheme: scheme, kinds: kinds, fault: func(err error) { faults = append(faults, err) }}
	if err := reader.readFrom(in, name, maxSnapshotBytes, "a snapshot"); err != nil {
		return nil, err
	}
	switch {
	case len(faults) > 1:
		return nil, fmt.Errorf("%w (and %s more)", faults[0], countOf(len(faults)-1, "error"))
	case len(faults) == 1:
		return nil, faults[0]
	case len(reader.objects) == 0 && (reader.seen > 0 || reader.emptyLists == 0):
		return nil, fmt.Errorf("%s: holds no Node, NodeRuntime, RuntimeClass, RuntimePolicy or Namespace, so it is not read as a snapshot", name)
	}
	for i := range reader.objects {
		if err := state.Apply(reader.objects[i].Object); err != nil {
			note("%s: %v, so the webhook does not enforce it", name, err)
		}
	}
	if state.NodeCount() == 0 {
		note("%s holds no Node", name)
	}
	return reader.objects, nil
}

// judge judges all that asks for a handler.
func (l *linter) judge(ctx context.Context, state *webhook.State) []lintResult {
	gate := state.Gate(l.time)
	results := []lintResult{}
	for i := range l.objects {
		object := &l.objects[i]
		namespace := cmp.Or(object.GetNamespace(), l.namespace)
		if object.kind.Kind == "RuntimeClass" {
			namespace = ""
		}
		verdict, concerned := gate.Judge(ctx, namespace, object.Object)
		if len(object.refused.Findings) > 0 {
			verdict = object.refused
		}
		if concerned {
			results = append(results, newLintResult(object, namespace, verdict))
		}
	}
	return results
}
