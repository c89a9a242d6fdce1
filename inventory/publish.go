package inventory

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// FieldManager owns the fields of NodeRuntimes in server-side apply.
const FieldManager = "runtimegate-reporter"

// NewClient makes a client for NodeRuntimes alone. It does not ask the API server
// what else that serves, which every reporter of a cluster would keep in memory.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("add runtimegate's types: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("NodeRuntime"), meta.RESTScopeRoot)
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return c, nil
}

// Publish writes a NodeRuntime by server-side apply. The reporter is its only
// writer, so that it takes over fields that somebody else has set.
func Publish(ctx context.Context, c client.Client, report *v1alpha1.NodeRuntime) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(report)
	if err != nil {
		return fmt.Errorf("convert NodeRuntime %q: %w", report.Name, err)
	}
	// A null creationTimestamp is not ours to apply.
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	apply := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content})
	if err := c.Apply(ctx, apply, client.FieldOwner(FieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("publish NodeRuntime %q: %w", report.Name, err)
	}
	return nil
}
