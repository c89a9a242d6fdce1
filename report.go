package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

const reportLong = `Publishes what a node's container runtime has loaded, as the NodeRuntime of that
node, or prints it with -o.

The dump is what "containerd config dump" prints on the node ("-" reads it from
stdin). A dump says what the next start of containerd would load: take it right
after a start.`

const reportExample = `  # Publish
  containerd config dump | runtimegate report --once --dump - --node gpu-a

  # Print
  runtimegate report --once --dump gpu-a.toml --node gpu-a -o yaml`

// reportOptions are the flags of report.
type reportOptions struct {
	cluster *genericclioptions.ConfigFlags
	once    bool
	dump    string
	node    string
	output  string
}

func newReportCommand() *cobra.Command {
	o := &reportOptions{cluster: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:     "report --once --dump FILE --node NAME",
		Short:   "Publish what a node's container runtime has loaded",
		Long:    reportLong,
		Example: reportExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return oneLine(o.run(cmd))
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.once, "once", false, "publish once and end")
	flags.StringVar(&o.dump, "dump", "", "file with the output of containerd config dump, - for stdin")
	flags.StringVar(&o.node, "node", "", "name of the node")
	flags.StringVarP(&o.output, "output", "o", "", "print instead of publishing: yaml or json")
	o.cluster.AddFlags(flags)
	return cmd
}

func (o *reportOptions) run(cmd *cobra.Command) error {
	if !o.once || o.dump == "" || o.node == "" {
		return errors.New("report needs --once, --dump FILE and --node NAME")
	}
	printer, err := o.printer()
	if err != nil {
		return err
	}
	report, err := o.read(cmd)
	if err != nil {
		return err
	}
	if printer != nil {
		return printer.PrintObj(report, cmd.OutOrStdout())
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	restConfig, err := clusterConfig(o.cluster)
	if err != nil {
		return err
	}
	restConfig.Timeout = cmp.Or(restConfig.Timeout, clusterTimeout)
	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	if err := inventory.Publish(cmd.Context(), c, report); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "noderuntime.runtimegate.io/%s published\n", report.Name)
	return err
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

func (o *reportOptions) read(cmd *cobra.Command) (*v1alpha1.NodeRuntime, error) {
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
