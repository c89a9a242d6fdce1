package main

import (
	"errors"
	"os"

	"github.com/spf13/pflag"
	helmcmd "helm.sh/helm/v4/pkg/cmd"
	helmkube "helm.sh/helm/v4/pkg/kube"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's own main imports it
	"k8s.io/component-base/cli"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodeheartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwokcmd "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwoksignals "sigs.k8s.io/kwok/pkg/utils/signals"
)

// kubectl does what kubectl's main does. CheckErr prints errors in kubectl's
// form and exits with its code.
func kubectl() error {
	kubectlutil.CheckErr(cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand()))
	return nil
}

// helm does what helm's main does.
func helm() error {
	helmkube.ManagedFieldsManager = "helm"
	command, err := helmcmd.NewRootCmd(os.Stdout, os.Args[1:], helmcmd.SetupLogging)
	if err != nil {
		return err
	}
	err = command.Execute() // says itself what is wrong
	if coded, ok := errors.AsType[helmcmd.CommandError](err); ok {
		os.Exit(coded.ExitCode)
	}
	if err != nil {
		os.Exit(1)
	}
	return nil
}

// kwok does what kwok's main does. Cobra adds the process-wide flags to every
// command; Kubernetes' --version among them is not one that kwok can read.
func kwok() error {
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ExitOnError)
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := kwoklog.InitFlags(kwoksignals.SetupSignalContext(), flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		return err
	}
	command := kwokcmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	return command.ExecuteContext(ctx)
}

// writeStages writes what kwok is to do with nodes and Pods. Without stages it
// does nothing, and its binary carries none.
func writeStages(path string) error {
	var all []byte
	for _, stage := range []string{
		fast.DefaultNodeInit, nodeheartbeat.DefaultNodeHeartbeatWithLease,
		podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete,
	} {
		all = append(all, "---\n"+stage+"\n"...)
	}
	return os.WriteFile(path, all, 0o600)
}
