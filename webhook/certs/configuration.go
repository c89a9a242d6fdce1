package certs

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// webhookSuffix ends the names of runtimegate's webhooks. Those of others are
// left alone, so that a wrong name breaks nobody's admission.
const webhookSuffix = ".runtimegate.io"

// injectorPrefix begins the annotations by which cert-manager's cainjector is
// told to write the bundles (cert-manager 1.x).
const injectorPrefix = "cert-manager.io/inject-"

// leftAlone is why a configuration is not written to: there is none, or it is
// not ours.
type leftAlone struct{ reason string }

func (l *leftAlone) Error() string { return l.reason }

// getConfiguration reads a ValidatingWebhookConfiguration, or says why it is left
// alone.
func getConfiguration(ctx context.Context, reader client.Reader, name string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	switch err := reader.Get(ctx, client.ObjectKey{Name: name}, configuration); {
	case apierrors.IsNotFound(err):
		return nil, &leftAlone{fmt.Sprintf("there is no ValidatingWebhookConfiguration %q", name)}
	case err != nil:
		return nil, fmt.Errorf("get ValidatingWebhookConfiguration %q: %w", name, err)
	}
	for annotation := range configuration.Annotations {
		if strings.HasPrefix(annotation, injectorPrefix) {
			return nil, &leftAlone{fmt.Sprintf("ValidatingWebhookConfiguration %q has annotation %s, by which cert-manager writes its CA bundles: remove it, or give the certificate with --cert-dir", name, annotation)}
		}
	}
	if len(bundlesOf(configuration)) == 0 {
		return nil, &leftAlone{fmt.Sprintf("ValidatingWebhookConfiguration %q has no webhook named *%s", name, webhookSuffix)}
	}
	return configuration, nil
}

// bundlesOf are the CA bundles of runtimegate's webhooks, to read or to change.
func bundlesOf(c *admissionregistrationv1.ValidatingWebhookConfiguration) []*[]byte {
	var bundles []*[]byte
	for i := range c.Webhooks {
		if strings.HasSuffix(c.Webhooks[i].Name, webhookSuffix) {
			bundles = append(bundles, &c.Webhooks[i].ClientConfig.CABundle)
		}
	}
	return bundles
}

// putBundle writes a CA bundle to all of runtimegate's webhooks, unless they have
// it, or the configuration was changed since it was read.
func putBundle(ctx context.Context, writer client.Writer, c *admissionregistrationv1.ValidatingWebhookConfiguration, bundle []byte) (changed bool, err error) {
	for _, is := range bundlesOf(c) {
		if !bytes.Equal(*is, bundle) {
			*is, changed = bundle, true
		}
	}
	if !changed {
		return false, nil
	}
	if err := writer.Update(ctx, c); err != nil {
		return false, fmt.Errorf("update ValidatingWebhookConfiguration %q: %w", c.Name, err)
	}
	return true, nil
}
