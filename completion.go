package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// flagValues are what the flags take that take one of a few words, by command;
// "" is for all commands.
var flagValues = map[string]map[string][]string{
	"": {
		"runtimeclass-missing": {"Warn", "Deny"},
		"max-action":           {"Deny", "Warn", "Audit"},
		"log-format":           {"json", "text"},
	},
	"serve":   {"pods-scope": {"Class", "All"}},
	"report":  {"output": {"yaml", "json"}},
	"explain": {"output": {"table", "json", "yaml"}, "runtime": {"containerd", "crio"}, "programs": {"auto", "yes", "no"}},
	"lint":    {"output": {"text", "json", "yaml", "sarif", "github", "junit"}, "fail-on": {"Deny", "Warn"}},
	"migrate": {"output": {"text", "diff", "json"}},
	"version": {"output": {"short", "json", "yaml"}},
}

// takesFiles are the commands with an argument that is a file.
var takesFiles = map[string]bool{"crosscheck": true, "explain": true, "migrate": true, "man": true}

// kubeconfigNames are the flags that name something of the kubeconfig.
var kubeconfigNames = map[string]func(*clientcmdapi.Config) []string{
	"context": func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) },
	"cluster": func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) },
	"user":    func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) },
}

// completeFlags lets a shell complete what flags take. No cluster is asked.
func completeFlags(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.ValidArgsFunction == nil && !takesFiles[cmd.Name()] {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, values := range []map[string][]string{flagValues[""], flagValues[cmd.Name()]} {
			for name, words := range values {
				complete(cmd, name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		for name, names := range kubeconfigNames {
			complete(cmd, name, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
				return kubeconfigWords(cmd.Flags(), names), cobra.ShellCompDirectiveNoFileComp
			})
		}
	}
}

// refuseOtherShells has the command completion fail for a shell that it does not know:
// by itself it prints its help, and is done.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args = nil
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) == 0 {
					return cmd.Help()
				}
				return fmt.Errorf("completion %q: want bash, zsh, fish or powershell", args[0])
			}
		}
	}
}

func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if cmd.Flags().Lookup(flag) != nil {
		// It fails for a flag that is not there, and for one that has a function.
		_ = cmd.RegisterFlagCompletionFunc(flag, f)
	}
}

// kubeconfigWords are names of the kubeconfig that the command line so far
// means; none when it cannot be read.
func kubeconfigWords(flags *pflag.FlagSet, names func(*clientcmdapi.Config) []string) []string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if f := flags.Lookup("kubeconfig"); f != nil && f.Value.String() != "" {
		rules.ExplicitPath = f.Value.String()
	}
	config, err := rules.Load()
	if err != nil {
		return nil
	}
	return names(config)
}
