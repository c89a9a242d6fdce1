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
	"k8s.io/client-go/rest"

	"github.com/runtimegate/runtimegate/webhook"
)

// viewFlags say which cluster, or which snapshot of one, a command looks at.
type viewFlags struct {
	snapshots []string
	now       string
	gate      gateFlags
	cluster   *genericclioptions.ConfigFlags
}

func (o *viewFlags) addTo(cmd *cobra.Command) {
	o.cluster = newClusterFlags(true)
	flags := cmd.Flags()
	flags.StringArrayVar(&o.snapshots, "snapshot", nil, "file to judge by in place of the cluster, - for stdin")
	flags.StringVar(&o.now, "now", "", "time at which to judge by the snapshot, as 2006-01-02T15:04:05Z (default: the clock)")
	o.gate.addTo(cmd)
	o.cluster.AddFlags(flags)
}

// A clusterView is a cluster, or a snapshot of one, as a command sees it.
type clusterView struct {
	state  *webhook.State
	scheme *runtime.Scheme
	// time is that at which all is judged, and stale the age at which a report no
	// longer counts.
	time  time.Time
	stale time.Duration
	// namespace is that of objects which name none.
	namespace string
	// snapshot is the file that it is from, empty for a live cluster; objects are
	// those of the snapshot, and config is how to reach the cluster.
	snapshot string
	objects  []readObject
	config   *rest.Config
	notes    io.Writer
}

func (v *clusterView) note(format string, args ...any) {
	fmt.Fprintln(v.notes, "note:", printable(fmt.Sprintf(format, args...)))
}

// prepare checks the flags. It asks no cluster yet.
func (o *viewFlags) prepare(cmd *cobra.Command) (*clusterView, error) {
	v := &clusterView{time: time.Now(), notes: cmd.ErrOrStderr(), stale: o.gate.inventory.StaleAfter}
	if len(o.snapshots) > 1 {
		return nil, errors.New("--snapshot is given more than once: put all into one file, as documents one after the other")
	}
	if len(o.snapshots) == 1 {
		v.snapshot = o.snapshots[0]
	}
	if o.now != "" && v.snapshot == "" {
		return nil, errors.New("--now goes with --snapshot")
	}
	var err error
	if o.now != "" {
		if v.time, err = time.Parse(time.RFC3339, o.now); err != nil {
			return nil, fmt.Errorf("--now %q: want a time such as 2006-01-02T15:04:05Z", o.now)
		}
	}
	gate, err := o.gate.options()
	if err != nil {
		return nil, err
	}
	v.state = webhook.NewState(gate)
	v.scheme, err = newScheme()
	return v, err
}

// read fills the view. Of a snapshot it keeps the objects of some more kinds.
func (o *viewFlags) read(ctx context.Context, v *clusterView, stdin io.Reader, kinds []schema.GroupVersionKind) (err error) {
	if v.snapshot != "" {
		return o.readSnapshot(v, stdin, kinds)
	}
	if v.config, err = clusterConfigOr(o.cluster, "a snapshot of it with --snapshot"); err != nil {
		return err
	}
	if v.namespace, _, err = o.cluster.ToRawKubeConfigLoader().Namespace(); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return readCluster(ctx, v.config, v.scheme, v.state, v.note)
}

func (o *viewFlags) readSnapshot(v *clusterView, stdin io.Reader, kinds []schema.GroupVersionKind) error {
	v.namespace = cmp.Or(*o.cluster.Namespace, metav1.NamespaceDefault)
	in, name := stdin, "stdin"
	if v.snapshot != "-" {
		file, err := os.Open(v.snapshot)
		if err != nil {
			return fmt.Errorf("--snapshot %s: %w", v.snapshot, pathCause(err))
		}
		defer file.Close()
		in, name = file, v.snapshot
	}
	objects, err := readSnapshotWith(in, name, v.scheme, slices.Concat(stateKinds, kinds), v.state, v.note)
	if err != nil {
		return err
	}
	v.objects = slices.DeleteFunc(objects, func(o readObject) bool { return !slices.Contains(kinds, o.kind) })
	if stale, all := v.state.StaleReports(v.time); stale > 0 && o.now == "" {
		v.note("%s: %d of %d NodeRuntimes are older than --stale-after %s and do not count; --now TIME judges by the time at which the snapshot was taken", name, stale, all, v.stale)
	}
	return nil
}
