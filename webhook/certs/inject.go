package certs

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// injectPeriod is how often the configuration is looked at: it may be made
// after the webhook, or be replaced.
const injectPeriod = 10 * time.Second

// webhookSuffix ends the names of runtimegate's webhooks. Those of others are
// left alone, so that a wrong name breaks nobody's admission.
const webhookSuffix = ".runtimegate.io"

// An Injector keeps a CA in runtimegate's webhooks of a
// ValidatingWebhookConfiguration.
type Injector struct {
	// Reader and Writer reach the API server without a cache.
	Reader client.Reader
	Writer client.Writer
	// Configuration is the name of the ValidatingWebhookConfiguration.
	Configuration string
	CA            []byte // PEM
	Log           logr.Logger
}

// Start implements manager.Runnable: it returns when ctx is done.
func (i *Injector) Start(ctx context.Context) error {
	last := ""
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := i.inject(ctx)
		switch {
		case err == nil:
			last = ""
		case err.Error() != last && ctx.Err() == nil:
			last = err.Error()
			i.Log.Error(err, "CA not injected; the API server cannot call the webhook", "retryAfter", injectPeriod.String())
		}
	}, injectPeriod)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every process
// has a certificate of its own.
func (i *Injector) NeedLeaderElection() bool { return false }

func (i *Injector) inject(ctx context.Context) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := i.Reader.Get(ctx, client.ObjectKey{Name: i.Configuration}, configuration); err != nil {
			return fmt.Errorf("get ValidatingWebhookConfiguration %q: %w", i.Configuration, err)
		}
		changed, ours := false, false
		for n := range configuration.Webhooks {
			hook := &configuration.Webhooks[n]
			if !strings.HasSuffix(hook.Name, webhookSuffix) {
				continue
			}
			ours = true
			if !bytes.Equal(hook.ClientConfig.CABundle, i.CA) {
				hook.ClientConfig.CABundle, changed = i.CA, true
			}
		}
		if !ours {
			return fmt.Errorf("ValidatingWebhookConfiguration %q has no webhook named *%s", i.Configuration, webhookSuffix)
		}
		if !changed {
			return nil
		}
		if err := i.Writer.Update(ctx, configuration); err != nil {
			return fmt.Errorf("update ValidatingWebhookConfiguration %q: %w", i.Configuration, err)
		}
		i.Log.Info("CA injected", "configuration", i.Configuration)
		return nil
	})
}
