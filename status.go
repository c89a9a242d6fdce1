package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory/fleet"
)

const statusLong = `Says of the whole cluster which handlers its nodes have loaded: each RuntimeClass
and the nodes that it picks, runtimes and versions, what is wrong or about to go
wrong, default handlers and how many nodes depend on each, and nodes that have not
told. Nodes that are alike are counted together, so that 5 000 fit on a screen.

It asks the cluster that kubectl would talk to, or a snapshot of it. -o html writes
one page that needs nothing else, to look through or to send.

  exit code 0   it has told
            2   it could not: stderr says why`

const statusExample = `  runtimegate status

  # Follow a rollout
  runtimegate status --watch

  # A page to look through, and a snapshot for lint and why
  runtimegate status -o html > status.html
  runtimegate status --save cluster.json`

// statusForms are the values of --output.
var statusForms = []string{"text", "wide", "json", "yaml", "html"}

// statusOptions are the flags of status.
type statusOptions struct {
	viewFlags
	output   string
	save     string
	pods     bool
	watch    bool
	interval time.Duration
}

func newStatusCommand() *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Say which handlers the cluster's nodes have loaded, and what is wrong",
		Long:    statusLong,
		Example: statusExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return oneLine(o.run(cmd))
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "text", "text, wide, json, yaml or html")
	flags.StringVar(&o.save, "save", "", "also write a snapshot to this file, for lint, why and status; - prints it in place of the status")
	flags.BoolVar(&o.pods, "pods", false, "count the Pods that use each default handler, for which all Pods are listed")
	flags.BoolVarP(&o.watch, "watch", "w", false, "show it anew when it changes, until ^C")
	flags.DurationVar(&o.interval, "interval", 2*time.Second, "shortest time between two looks of --watch")
	o.addTo(cmd)
	return cmd
}

func (o *statusOptions) check() error {
	switch {
	case !slices.Contains(statusForms, o.output):
		return fmt.Errorf("--output %q: want text, wide, json, yaml or html", o.output)
	case o.watch && len(o.snapshots) > 0:
		return errors.New("--watch watches a cluster: a snapshot does not change")
	case o.watch && o.output == "html":
		return errors.New("--watch shows text, wide, json or yaml")
	case o.watch && (o.pods || o.save != ""):
		return errors.New("--pods and --save go without --watch")
	case o.save == "-" && (o.pods || o.output != "text"):
		return errors.New("--save - prints the snapshot in place of the status: it goes without --output and --pods")
	case o.interval < 100*time.Millisecond:
		return errors.New("--interval: want 100ms at least")
	}
	return nil
}

func (o *statusOptions) run(cmd *cobra.Command) error {
	if isStdout(o.save, cmd.OutOrStdout()) {
		o.save = "-"
	}
	if err := o.check(); err != nil {
		return err
	}
	view, err := o.prepare(cmd)
	if err != nil {
		return err
	}
	if o.watch {
		ctx, stop := signal.NotifyContext(contextOf(cmd), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return o.follow(ctx, cmd, view)
	}
	var kinds []schema.GroupVersionKind
	if o.pods {
		kinds = append(kinds, corev1.SchemeGroupVersion.WithKind("Pod"))
	}
	if err := o.read(contextOf(cmd), view, cmd.InOrStdin(), kinds); err != nil {
		return err
	}
	if o.save == "-" {
		view.note("stdout is the snapshot; judge by it with --now %s", view.time.UTC().Format(time.RFC3339))
		return view.writeSnapshot(cmd.OutOrStdout())
	}
	if o.save != "" {
		if err := view.save(o.save); err != nil {
			return err
		}
	}
	s := o.statusOf(contextOf(cmd), view)
	if o.pods {
		if err := s.countPods(contextOf(cmd), view); err != nil {
			return err
		}
	}
	return writeStatus(cmd.OutOrStdout(), o.output, s)
}

// contextOf is the command's context, if it was given one.
func contextOf(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}

// A status is an Overview, and where it is from.
type status struct {
	*fleet.Overview
	where string
	nodes *fleet.Fleet
}

// statusOf sums up what the view has.
func (o *statusOptions) statusOf(ctx context.Context, view *clusterView) *status {
	gate := view.state.Gate(view.time)
	s := &status{where: view.where(), nodes: view.state.Fleet(view.time)}
	classes := gate.Classes(ctx)
	s.Overview = s.nodes.Overview(classes)
	for i := range classes {
		verdict := gate.RuntimeClass(&classes[i])
		for j := range verdict.Findings {
			s.Classes[i].Conditions = append(s.Classes[i].Conditions, string(verdict.Findings[j].Condition))
		}
	}
	return s
}

// countPods counts the Pods that use the default handler of their node.
func (s *status) countPods(ctx context.Context, view *clusterView) error {
	store, err := view.store()
	if err != nil {
		return err
	}
	counts, seen := map[string]int{}, false
	err = store.each(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), "", func(o client.Object) {
		pod, ok := o.(*corev1.Pod)
		if !ok {
			return
		}
		seen = true
		class, node := pod.Spec.RuntimeClassName, s.nodes.Node(pod.Spec.NodeName)
		if node != nil && (class == nil || *class == "") && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			counts[node.Default()]++
		}
	})
	if err != nil {
		return fmt.Errorf("count the Pods of %s: %w", view.where(), err)
	}
	if !seen && view.snapshot != "" {
		view.note("%s holds no Pod, so --pods counts none", view.snapshot)
		return nil
	}
	for i := range s.Defaults {
		n := counts[s.Defaults[i].Handler]
		s.Defaults[i].Pods = &n
	}
	return nil
}

// writeStatus prints it in the form asked for.
func writeStatus(w io.Writer, form string, s *status) error {
	switch form {
	case "json", "yaml":
		return writeAs(w, form, s.Overview)
	case "html":
		return writeStatusPage(w, s)
	}
	p := &printer{colour: wantsColour(w)}
	p.status(s, form == "wide")
	_, err := w.Write(p.Bytes())
	return err
}
