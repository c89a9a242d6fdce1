package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

const reportLong = `Publishes what this node's container runtime has loaded, as the NodeRuntime of the
node, and keeps it up to date until it is ended. With --once it does so once, and
with -o prints it instead; for that no cluster is needed.

The running runtime is asked, over its CRI socket: the one that the kubelet is
told, or a known one. Its files, its shims and OCI runtimes are looked at too, so
that the NodeRuntime also says what the next start of the runtime would load and
what is wrong or about to go wrong.

A runtime that does not answer is an error of --once, exit code 2: nothing is
published, since nothing is known. Without --once the last list stays, with the
finding RuntimeUnreachable.

With --dump the output of "containerd config dump" is read instead ("-" reads it
from stdin). A dump says what the next start of containerd would load: take it
right after a start.`

const reportExample = `  # What has this node loaded?
  runtimegate report --once -o yaml

  # Keep it published, from a container that has the node's root at /host
  runtimegate report --host-root /host --node gpu-a

  # Publish a dump taken elsewhere
  runtimegate report --once --dump gpu-a.toml --node gpu-a`

// reportOptions are the flags of report.
type reportOptions struct {
	cluster  *genericclioptions.ConfigFlags
	observed nodeOptions
	once     bool
	dump     string
	node     string
	output   string

	poll, heartbeat time.Duration
	logFormat       string
}

func newReportCommand() *cobra.Command {
	o := &reportOptions{cluster: newClusterFlags(true)}
	cmd := &cobra.Command{
		Use:     "report [--once]",
		Short:   "Publish or print what this node's container runtime has loaded",
		Long:    reportLong,
		Example: reportExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return oneLine(o.run(cmd))
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.once, "once", false, "publish once and end")
	flags.StringVar(&o.dump, "dump", "", "file with the output of containerd config dump, - for stdin, to read instead of asking the runtime")
	flags.StringVar(&o.node, "node", os.Getenv("NODE_NAME"), "name of the node (default: the environment's NODE_NAME; with -o, or else the host name)")
	flags.StringVarP(&o.output, "output", "o", "", "print instead of publishing: yaml or json")
	flags.DurationVar(&o.poll, "poll", inventory.DefaultPoll, "time between two looks at the runtime, give or take a fifth; changed files are looked at sooner")
	flags.DurationVar(&o.heartbeat, "heartbeat", inventory.DefaultHeartbeat, "time after which an unchanged report is written again, give or take a fifth; it must stay well below serve's --stale-after")
	flags.StringVar(&o.logFormat, "log-format", "json", "json or text, without --once")
	o.observed.addFlags(flags)
	o.observed.addEndpointFlag(flags)
	o.cluster.AddFlags(flags)
	return cmd
}

func (o *reportOptions) run(cmd *cobra.Command) error {
	printer, err := o.printer()
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if !o.once {
		return o.runAgent(cmd)
	}
	if printer != nil {
		report, err := o.read(cmd, nothingBefore)
		if err != nil {
			return err
		}
		return printer.PrintObj(report, cmd.OutOrStdout())
	}
	return o.publishOnce(cmd)
}

// publishOnce publishes what the node has now.
func (o *reportOptions) publishOnce(cmd *cobra.Command) error {
	report, err := o.read(cmd, o.before)
	if err != nil {
		return err
	}
	if err := o.checkNode(cmd.Context(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	if err := inventory.Publish(cmd.Context(), c, report); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "noderuntime.runtimegate.io/%s published\n", report.Name)
	return err
}

// client reaches the cluster.
func (o *reportOptions) client() (client.Client, error) {
	restConfig, err := clusterConfig(o.cluster)
	if err != nil {
		return nil, err
	}
	if o.once {
		restConfig.Timeout = cmp.Or(restConfig.Timeout, clusterTimeout)
	}
	return inventory.NewClient(restConfig)
}

// checkNode tells of a name that no Node has: the report will be removed again.
// Who may not read Nodes, as the agents may not, is told nothing.
func (o *reportOptions) checkNode(ctx context.Context, stderr io.Writer) error {
	cfg, err := clusterConfig(o.cluster)
	if err != nil {
		return err
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, clusterTimeout)
	nodes, err := coreclient.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if _, err := nodes.Nodes().Get(ctx, o.node, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		fmt.Fprintf(stderr, "note: there is no Node %q in %s: unless it comes, the report is removed again; \"kubectl get nodes\" lists those that --node may name\n", o.node, cfg.Host)
	}
	return nil
}

// printer returns what -o asks for, nil for no -o.
func (o *reportOptions) printer() (printers.ResourcePrinter, error) {
	switch o.output {
	case "":
		return nil, nil
	case "yaml":
		return &printers.YAMLPrinter{}, nil
	case "json":
		return &printers.JSONPrinter{}, nil
	}
	return nil, fmt.Errorf("--output %q: want yaml or json", o.output)
}

func (o *reportOptions) check() error {
	if !o.once {
		if err := o.checkAgent(); err != nil {
			return err
		}
	}
	if o.node == "" && o.output != "" {
		// As the kubelet does it by default.
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find the name of the node: %w; say it with --node", err)
		}
		o.node = strings.ToLower(host)
	}
	if o.node == "" {
		return errors.New("report needs --node NAME to publish; -o yaml prints")
	}
	return o.observed.check()
}

// before is what is published of the node: only that tells what the runtime has
// lost.
func (o *reportOptions) before(ctx context.Context) (*v1alpha1.NodeRuntime, error) {
	c, err := o.client()
	if err != nil {
		return nil, err
	}
	report, err := readPublished(ctx, c, o.node)
	if err != nil {
		return nil, fmt.Errorf("nothing was published, since what the runtime had before cannot be read: %w", err)
	}
	return report, nil
}

// nothingBefore is before where no cluster is asked.
func nothingBefore(context.Context) (*v1alpha1.NodeRuntime, error) { return nil, nil }

// read makes the NodeRuntime.
func (o *reportOptions) read(cmd *cobra.Command, before func(context.Context) (*v1alpha1.NodeRuntime, error)) (*v1alpha1.NodeRuntime, error) {
	if o.dump != "" {
		return o.readDump(cmd)
	}
	seen, err := o.observed.observe(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	last, err := before(cmd.Context())
	if err != nil {
		return nil, err
	}
	if last != nil {
		seen.Before = &last.Spec
	}
	return inventory.FromStatus(seen, o.node)
}

func (o *reportOptions) readDump(cmd *cobra.Command) (*v1alpha1.NodeRuntime, error) {
	in, name := cmd.InOrStdin(), "<stdin>"
	if o.dump != "-" {
		file, err := os.Open(o.dump)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, name = file, o.dump
	}
	dump, err := config.ReadDump(in, name)
	if err != nil {
		return nil, err
	}
	for _, note := range dump.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}
	return inventory.FromDump(dump, o.node, time.Now())
}
