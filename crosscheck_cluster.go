package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	nodeclient "k8s.io/client-go/kubernetes/typed/node/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/runtimegate/runtimegate/config"
)

// clusterTimeout bounds all that is asked of the cluster, unless
// --request-timeout says otherwise: a boot check must not hang.
const clusterTimeout = 10 * time.Second

// clusterWants lists the handlers of the cluster's RuntimeClasses.
func clusterWants(ctx context.Context, flags *genericclioptions.ConfigFlags) ([]config.Want, error) {
	cfg, err := clusterConfigOr(flags, "say what is wanted with -f or --require")
	if err != nil {
		return nil, err
	}
	timeout := cmp.Or(cfg.Timeout, clusterTimeout)
	cfg.Timeout = 0 // one clock, of all pages together
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, err := nodeclient.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	var wants []config.Want
	for opts := (metav1.ListOptions{Limit: 500}); ; {
		list, err := client.RuntimeClasses().List(ctx, opts)
		if err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("no answer within %s", timeout)
			}
			return nil, fmt.Errorf("cannot list the RuntimeClasses of %s: %w", cfg.Host, err)
		}
		for i := range list.Items {
			c := &list.Items[i]
			wants = append(wants, config.Want{Handler: c.Handler, By: fmt.Sprintf("RuntimeClass %q", c.Name)})
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			return wants, nil
		}
	}
}

// clusterConfig finds the cluster as kubectl does, but does not fall back to
// localhost:8080 where no cluster is configured.
func clusterConfig(flags *genericclioptions.ConfigFlags) (*rest.Config, error) {
	return clusterConfigOr(flags, "")
}

// clusterConfigOr is clusterConfig for a command that can do without a cluster:
// instead says how.
func clusterConfigOr(flags *genericclioptions.ConfigFlags, instead string) (*rest.Config, error) {
	if path := *flags.KubeConfig; path != "" {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("--kubeconfig %s: %w", path, pathCause(err))
		}
	}
	cfg, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", kubeconfigError(err))
	}
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", kubeconfigError(err))
	}
	if len(raw.Clusters) == 0 && *flags.APIServer == "" && cfg.Host == "http://localhost:8080" {
		where := ""
		if env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); env != "" {
			where = fmt.Sprintf(" (KUBECONFIG is %q)", env)
		}
		advice := "give --kubeconfig"
		if instead != "" {
			advice += ", or " + instead
		}
		return nil, fmt.Errorf("no cluster is configured%s: %s", where, advice)
	}
	return cfg, nil
}

var (
	goTypeInError  = regexp.MustCompile(`(?:couldn't get version/kind; json parse error: )?json: cannot unmarshal (\w+) into Go value of type .*`)
	goFieldInError = regexp.MustCompile(`json: cannot unmarshal (\w+) into Go struct field \w+\.([\w.-]+) of type (\S+)`)
)

// kubeconfigError says of a kubeconfig what is wrong in its own words, and what
// shows more.
func kubeconfigError(err error) error {
	text := goTypeInError.ReplaceAllString(err.Error(), "not a kubeconfig: $1 where an object is wanted")
	if m := goFieldInError.FindStringSubmatch(text); m != nil {
		text = strings.Replace(text, m[0], fmt.Sprintf("%s: %s where %s is wanted", m[2], m[1], goType(m[3])), 1)
	}
	switch {
	case strings.Contains(text, "context was not found"), clientcmd.IsContextNotFound(err), strings.HasPrefix(text, "context "):
		text += `; "kubectl config get-contexts" lists those that are there`
	case text != err.Error():
		text += `; "kubectl config view" shows what is read`
	}
	return &toldError{text: text, err: err}
}

// A toldError is an error in other words.
type toldError struct {
	text string
	err  error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.err }
