package harness

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

//go:embed webhook.yaml
var webhookManifest string

// configuration is the name of the manifest's object.
const configuration = "runtimegate"

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

// WebhookFor is the configuration for a gate at host:port.
func WebhookFor(address string, scope Scope) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	object := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(webhookManifest, "WEBHOOK", address)), object); err != nil {
		return nil, fmt.Errorf("read webhook.yaml: %w", err)
	}
	switch scope {
	case ScopeHandlers:
	case ScopeAll:
		for i := range object.Webhooks {
			hook := &object.Webhooks[i]
			hook.MatchConditions = slices.DeleteFunc(hook.MatchConditions, func(c admissionregistrationv1.MatchCondition) bool {
				return c.Name == needsAHandler
			})
		}
	default:
		return nil, fmt.Errorf("scope %q: want %s or none", scope, ScopeAll)
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
