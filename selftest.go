package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	nodeclient "k8s.io/client-go/kubernetes/typed/node/v1"
)

const selftestLong = `Finds out whether the API server asks runtimegate: it creates, as a dry run, a
RuntimeClass of a handler that no node has, and waits until runtimegate warns of
it or denies it. Nothing is left in the cluster.

The exit code is 0 (runtimegate answers), 1 (it said nothing) or 2 (cannot tell).
With --max-action=Audit runtimegate says nothing to anybody.`

const (
	// selftestHandler is one that no node has.
	selftestHandler = "runtimegate-selftest"
	selftestPause   = time.Second
)

func newSelftestCommand() *cobra.Command {
	cluster := newClusterFlags(false)
	timeout := time.Minute
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Find out whether the API server asks runtimegate",
		Long:  selftestLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer progress(cmd.ErrOrStderr(), "waiting for runtimegate to answer")()
			return oneLine(selftest(cmd.Context(), cmd.OutOrStdout(), cluster, timeout))
		},
	}
	flags := cmd.Flags()
	cluster.AddFlags(flags)
	flags.DurationVar(&timeout, "timeout", timeout, "how long to wait for runtimegate: it may only just have started")
	return cmd
}

// warnings are what the API server warns of.
type warnings []string

// HandleWarningHeader is called by the client for each warning.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { *w = append(*w, text) }

func selftest(ctx context.Context, out io.Writer, cluster *genericclioptions.ConfigFlags, timeout time.Duration) error {
	cfg, err := clusterConfig(cluster)
	if err != nil {
		return err
	}
	var warned warnings
	cfg.WarningHandler, cfg.Timeout = &warned, clusterTimeout
	client, err := nodeclient.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		warned = nil
		_, err := client.RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{GenerateName: selftestHandler + "-"}, Handler: selftestHandler,
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if said := runtimegateSaid(warned, err); said != "" {
			_, err := fmt.Fprintln(out, "OK: runtimegate says:", said)
			return err
		}
		select {
		case <-ctx.Done():
			return silence(cfg.Host, timeout, warned, err)
		case <-time.After(selftestPause):
		}
	}
}

// runtimegateSaid is what runtimegate said of the class, be it a warning or a denial.
func runtimegateSaid(warned warnings, err error) string {
	said := []string(warned)
	if err != nil && strings.Contains(err.Error(), ".runtimegate.io\" denied the request") {
		said = append(said, err.Error())
	}
	for _, text := range said {
		if strings.Contains(text, fmt.Sprintf("handler %q", selftestHandler)) {
			return text
		}
	}
	return ""
}

// silence says why nothing was heard of runtimegate.
func silence(host string, timeout time.Duration, warned warnings, err error) error {
	if err != nil {
		return fmt.Errorf("cannot create a RuntimeClass in %s as a dry run: %w", host, err)
	}
	also := ""
	if len(warned) > 0 {
		also = fmt.Sprintf(" (only: %s)", strings.Join(warned, "; "))
	}
	return &exitError{code: 1, err: errors.New("the API server took a RuntimeClass of a handler that no node has, and runtimegate said nothing within " + timeout.String() + also +
		": see whether its Pods are ready, whether their log has errors, and whether the webhooks of its ValidatingWebhookConfiguration have a caBundle")}
}
