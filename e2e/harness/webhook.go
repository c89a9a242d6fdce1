package harness

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/e2e/build"
)

// configuration is the name of the webhook configuration.
const configuration = Release

// A Scope says which Pods and templates the API server asks about.
type Scope string

const (
	// ScopeHandlers: those that name a handler, or need a feature of one.
	ScopeHandlers Scope = ""
	// ScopeAll: those that take the default handler of their node, too.
	ScopeAll Scope = "All"
)

// needsAHandler is the match condition that makes ScopeHandlers.
const needsAHandler = "needs-a-handler"

// WebhookFor is the chart's configuration for a gate at host:port.
func WebhookFor(address string, scope Scope) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	root, err := build.Root()
	if err != nil {
		return nil, err
	}
	values := map[string]any{"webhook": map[string]any{"url": map[string]any{"host": address}}}
	if scope != ScopeHandlers {
		values["pods"] = map[string]any{"scope": string(scope)}
	}
	manifest, err := RenderChart(context.Background(), root, gateNamespace, values, "webhook.yaml")
	if err != nil {
		return nil, err
	}
	object := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict([]byte(manifest), object); err != nil {
		return nil, fmt.Errorf("read the chart's webhook configuration: %w", err)
	}
	return object, nil
}

// webhookFor is its manifest.
func webhookFor(address string, scope Scope) (string, error) {
	object, err := WebhookFor(address, scope)
	if err != nil {
		return "", err
	}
	manifest, err := yaml.Marshal(object)
	return string(manifest), err
}
