package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	controllersoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// A component is set up and then runs until its context ends. It is made from
// its options, not from its command, which would take the process's signals
// for itself. The set-ups share global feature gates: one after the other.
type component func(ctx context.Context) error

// auditPolicy has the audit log keep what admission noted on each change.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, verbs: [create, update, patch]}
`

// newAPIServer serves the API on the listener. Its audit log is audit.log.
func newAPIServer(ctx context.Context, dir string, p *pki, listener net.Listener, etcd string) (component, error) {
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	options := apiserveroptions.NewServerRunOptions()
	err := parse("kube-apiserver", options.Flags(),
		"--etcd-servers="+etcd,
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // loopback is no legal endpoint
		"--tls-cert-file="+p.path("apiserver.crt"),
		"--tls-private-key-file="+p.path("apiserver.key"),
		"--client-ca-file="+p.path("ca.crt"),
		"--token-auth-file="+p.path("tokens.csv"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+p.path("sa.pub"),
		"--service-account-signing-key-file="+p.path("sa.key"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
		"--audit-policy-file="+policy,
		"--audit-log-path="+filepath.Join(dir, "audit.log"),
		"--profiling=false",
	)
	if err != nil {
		return nil, err
	}
	// A listener of our own: no other process can take the port in between.
	options.SecureServing.Listener = listener
	options.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	if err := options.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	completed, err := options.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(completed.Validate()...); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return apiserver.Run(ctx, completed) }, nil
}

// newScheduler schedules Pods. Like the controllers it serves nothing itself,
// so it takes no port.
func newScheduler(ctx context.Context, kubeconfig string) (component, error) {
	options := scheduleroptions.NewOptions()
	err := parse("kube-scheduler", *options.Flags,
		"--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0", "--profiling=false")
	if err != nil {
		return nil, err
	}
	config, sched, err := scheduler.Setup(ctx, options)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return scheduler.Run(ctx, config, sched) }, nil
}

// newControllers is kube-controller-manager.
func newControllers(ctx context.Context, p *pki, kubeconfig string) (component, error) {
	options, err := controllersoptions.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	known, off, aliases := controllers.KnownControllers(), controllers.ControllersDisabledByDefault(), controllers.ControllerAliases()
	flags := options.Flags(known, off, aliases)
	options.ParsedFlags = &flags
	err = parse("kube-controller-manager", flags,
		"--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0", "--profiling=false",
		"--use-service-account-credentials=true",
		// Each controller asks for a token at its start: the default of 20
		// requests a second would make that take 5 seconds.
		"--kube-api-qps=1000", "--kube-api-burst=1000",
		// A machine that has its hands full holds up kwok's heartbeats: its nodes
		// are not to be given up for that, which makes their Pods unready for good.
		"--node-monitor-grace-period=10m",
		"--service-account-private-key-file="+p.path("sa.key"),
		"--root-ca-file="+p.path("ca.crt"),
		"--cluster-signing-cert-file="+p.path("ca.crt"),
		"--cluster-signing-key-file="+p.path("ca.key"),
	)
	if err != nil {
		return nil, err
	}
	config, err := options.Config(ctx, known, off, aliases)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return controllers.Run(ctx, config.Complete()) }, nil
}

// parse sets a component's options from the flags of its command line.
func parse(component string, sets cliflag.NamedFlagSets, args ...string) error {
	flags := pflag.NewFlagSet(component, pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("parse flags: %w", err)
	}
	return nil
}
