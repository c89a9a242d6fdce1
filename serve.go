package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/webhook"
	"github.com/runtimegate/runtimegate/webhook/audit"
)

const serveLong = `Serves the validating admission webhook: it rejects or warns of Pods and
RuntimeClasses whose handler the nodes they may land on have not loaded, or that
a RuntimePolicy forbids. It warns of what a new RuntimePolicy would deny and of
what still uses a RuntimeClass that is deleted, keeps the policies' status, and
removes the NodeRuntimes of nodes that are gone.

It is ready (/readyz) once it knows the nodes. Until then it lets everything
pass, and says so.

The serving certificate comes from one of
  --cert-dir      a mounted Secret, of cert-manager say; read anew when it changes
  --cert-secret   a Secret in which all replicas keep one that they make, and
                  replace in time. The ValidatingWebhookConfiguration of
                  --inject-ca trusts each before it is served
  --self-signed   memory, for a single replica. Its authority goes into the
                  configuration of --inject-ca, or to stdout
See docs/certificates.md.`

const serveExample = `  # In a cluster
  runtimegate serve --cert-secret runtimegate-system/runtimegate-webhook \
    --cert-host runtimegate-webhook.runtimegate-system.svc --inject-ca runtimegate

  # With a certificate of others
  runtimegate serve --cert-dir /etc/runtimegate/tls

  # Beside a cluster, to try it
  runtimegate serve --kubeconfig ~/.kube/config --webhook-bind-address 127.0.0.1:9443 \
    --self-signed --cert-host 127.0.0.1 --inject-ca runtimegate`

// serveOptions are the flags of serve.
type serveOptions struct {
	cluster       *genericclioptions.ConfigFlags
	webhookAddr   string
	metricsAddr   string
	healthAddr    string
	pprofAddr     string
	logFormat     string
	podsScope     string
	exempt        []string
	orphanGrace   time.Duration
	shutdownDelay time.Duration
	auditInterval time.Duration
	leaderElect   string
	shutdownDrain time.Duration
	nodeLabels    bool
	nodeCondition bool
	certs         certFlags
	gate          gateFlags
}

func newServeCommand() *cobra.Command {
	o := &serveOptions{cluster: newClusterFlags(false)}
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve the validating admission webhook",
		Long:    serveLong,
		Example: serveExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return oneLine(o.run(cmd))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(o.cluster.KubeConfig, "kubeconfig", "", "path of a kubeconfig; without it $KUBECONFIG, ~/.kube/config, or the cluster this runs in")
	flags.StringVar(o.cluster.Context, "context", "", "context of the kubeconfig to use")
	flags.StringVar(&o.webhookAddr, "webhook-bind-address", ":9443", "host:port of the webhook")
	flags.StringVar(&o.metricsAddr, "metrics-bind-address", ":8080", "host:port of /metrics; 0 turns it off")
	flags.StringVar(&o.healthAddr, "health-probe-bind-address", ":8081", "host:port of /healthz and /readyz")
	flags.StringVar(&o.pprofAddr, "pprof-bind-address", "0", "host:port of /debug/pprof/, which has no access control; 0 turns it off")
	flags.StringVar(&o.logFormat, "log-format", "json", "json or text")
	flags.StringVar(&o.podsScope, "pods-scope", string(webhook.ScopeClass), "Pods that the webhook configuration sends: Class (those that choose a handler or need a feature of one) or All, which policies with allowDefault: false need")
	flags.StringSliceVar(&o.exempt, "exempt-namespaces", []string{"kube-system", "kube-node-lease", "runtimegate-system"}, "namespaces that the webhook configuration leaves out, so that nothing is said to be enforced there")
	flags.DurationVar(&o.orphanGrace, "orphan-grace", webhook.DefaultOrphanGrace, "how long a NodeRuntime is kept that has no Node, or is older than its Node: the kubelet, or the reporter, may be about to come")
	flags.DurationVar(&o.shutdownDelay, "shutdown-delay", 0, "how long to go on serving after SIGTERM, so that API servers and proxies learn of it")
	flags.DurationVar(&o.auditInterval, "audit-interval", audit.DefaultInterval, "time between two looks at the RuntimeClasses, for Events about handlers that have become Missing, Broken or Expiring")
	flags.StringVar(&o.leaderElect, "leader-election-namespace", "", "namespace of the Lease by which replicas agree on one that writes these Events; without it each replica does")
	flags.DurationVar(&o.shutdownDrain, "shutdown-drain", 0, "how long to wait after that, at most, for API servers to close their idle HTTP/1.1 connections, which they do after 90s: what is sent on one that serve closes may fail")
	flags.BoolVar(&o.nodeLabels, "node-labels", false, "label Nodes with "+inventory.HandlerLabelPrefix+"HANDLER=true for each handler that can run Pods there, for the scheduling of a RuntimeClass to select; serve may then patch Nodes")
	flags.BoolVar(&o.nodeCondition, "node-condition", false, "write the condition "+string(inventory.HandlersReady)+" of Nodes; serve may then patch their status")
	o.certs.addTo(cmd)
	o.gate.addTo(cmd)
	return cmd
}

func (o *serveOptions) run(cmd *cobra.Command) error {
	// Near the limit of its container it collects more often, and is not killed.
	_, _ = memlimit.Set(memlimit.WithRatio(0.9), memlimit.WithProvider(memlimit.FromCgroup))
	log, err := newLogger(cmd.ErrOrStderr(), o.logFormat)
	if err != nil {
		return err
	}
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	if o.shutdownDelay < 0 || o.shutdownDrain < 0 {
		return errors.New("--shutdown-delay and --shutdown-drain must not be below 0")
	}
	if o.auditInterval < time.Second {
		return errors.New("--audit-interval must be at least 1s")
	}
	if err := o.certs.check(); err != nil {
		return err
	}
	options, err := o.managerOptions(log)
	if err != nil {
		return err
	}
	choices, err := o.webhookOptions()
	if err != nil {
		return err
	}
	restConfig, err := o.cluster.ToRESTConfig()
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", kubeconfigError(err))
	}
	// The client's own limit of 5 requests a second would turn denials into
	// warnings under load, since a class is read live before each. The API server
	// has limits of its own.
	restConfig.QPS = -1
	// As kube-scheduler has it: to compress what it watches costs an API server more
	// than to send it.
	restConfig.DisableCompression = true
	source, keep, err := o.certs.open(restConfig, options.Scheme, log, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if options.Cache, err = inventory.CacheOptions(restConfig, options.Scheme); err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	server := newWebhookServer(o.webhookAddr, source, keep, ctx.Done(), log)
	options.WebhookServer = server
	mgr, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	gate, ready, err := webhook.Register(ctx, mgr, choices)
	if err != nil {
		return err
	}
	if err := audit.Register(mgr, gate, ready, o.auditInterval); err != nil {
		return err
	}
	if err := mgr.Add(everywhere(func(ctx context.Context) error { return keepLean(ctx, ready) })); err != nil {
		return err
	}
	marks := audit.MarkOptions{Labels: o.nodeLabels, Condition: o.nodeCondition, Inventory: choices.Inventory}
	if err := audit.RegisterMarks(mgr, marks); err != nil {
		return err
	}
	err = errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("webhook", server.ready),
		metrics.Registry.Register(source),
	)
	if err != nil {
		return err
	}
	log.Info("Serving", "webhook", o.webhookAddr, "metrics", o.metricsAddr, "health", o.healthAddr)
	return mgr.Start(server.untilEnd(o.shutdownDelay, o.shutdownDrain))
}

// webhookOptions checks what is chosen of the webhook.
func (o *serveOptions) webhookOptions() (webhook.Options, error) {
	choices, err := o.gate.options()
	if err != nil {
		return choices, err
	}
	choices.Scope, choices.Exempt, choices.OrphanGrace = webhook.PodsScope(o.podsScope), o.exempt, o.orphanGrace
	if o.orphanGrace < 0 {
		return choices, errors.New("--orphan-grace must not be below 0")
	}
	choices.Version = thisBuild().Version
	if choices.Scope != webhook.ScopeClass && choices.Scope != webhook.ScopeAll {
		return choices, fmt.Errorf("--pods-scope %q: want %s or %s", o.podsScope, webhook.ScopeClass, webhook.ScopeAll)
	}
	return choices, nil
}

// managerOptions checks the addresses and makes of them what the manager takes.
func (o *serveOptions) managerOptions(log logr.Logger) (manager.Options, error) {
	scheme, err := newScheme()
	if err != nil {
		return manager.Options{}, err
	}
	if err := checkAddress(o.webhookAddr); err != nil {
		return manager.Options{}, fmt.Errorf("--webhook-bind-address: %w", err)
	}
	if err := checkAddress(o.pprofAddr); err != nil && o.pprofAddr != "0" {
		return manager.Options{}, fmt.Errorf("--pprof-bind-address: %w", err)
	}
	return manager.Options{
		Scheme:                 scheme,
		Logger:                 log,
		HealthProbeBindAddress: o.healthAddr,
		PprofBindAddress:       o.pprofAddr,

		LeaderElection: o.leaderElect != "", LeaderElectionNamespace: o.leaderElect, LeaderElectionID: "runtimegate",
		LeaderElectionReleaseOnCancel: true,
		// Who can't renew the Lease ends, and with it a webhook that knows the nodes:
		// an API server that is away for a minute must not do that.
		LeaseDuration: new(137 * time.Second), RenewDeadline: new(107 * time.Second), RetryPeriod: new(5 * time.Second),

		Metrics: server.Options{BindAddress: o.metricsAddr},
	}, nil
}

func checkAddress(address string) error {
	_, service, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if port, err := strconv.Atoi(service); err != nil || port < 1 || port > 65535 {
		return fmt.Errorf("port %q of %q: want a number from 1 to 65535", service, address)
	}
	return nil
}

// parseAction returns the action of that name, if the flag takes it.
func parseAction(flag, name string, takes ...webhook.Action) (webhook.Action, error) {
	var names []string
	for _, action := range takes {
		if name == action.String() {
			return action, nil
		}
		names = append(names, action.String())
	}
	return webhook.Allow, fmt.Errorf("%s %q: want %s", flag, name, strings.Join(names, " or "))
}

// everywhere is a task of every replica, not of the leader alone.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (e everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (e everywhere) NeedLeaderElection() bool { return false }
