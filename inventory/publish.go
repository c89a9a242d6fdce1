package inventory

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// FieldManager owns the fields of NodeRuntimes in server-side apply.
const FieldManager = "runtimegate-reporter"

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
