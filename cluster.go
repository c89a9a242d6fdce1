package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// newScheme knows Kubernetes' own types and ours.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("add Kubernetes types: %w", err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("add runtimegate's types: %w", err)
	}
	return scheme, nil
}

// newClusterFlags are kubectl's flags to reach a cluster. What is asked there is
// asked in this program's name and version, which the API server's audit log
// keeps.
func newClusterFlags(persistent bool) *genericclioptions.ConfigFlags {
	return genericclioptions.NewConfigFlags(persistent).WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		v := thisBuild()
		c.UserAgent = fmt.Sprintf("runtimegate/%s (%s)", v.Version, v.Platform)
		return c
	})
}
