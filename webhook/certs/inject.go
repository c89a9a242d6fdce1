package certs

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// injectPeriod is how often the configuration is looked at: it may be made
// after the webhook, or be replaced.
const injectPeriod = 10 * time.Second

// An Injector keeps a CA in runtimegate's webhooks of a
// ValidatingWebhookConfiguration, and no other: it is for a single process.
type Injector struct {
	// Client reaches the API server without a cache.
	Client client.Client
	// Configuration is the name of the ValidatingWebhookConfiguration.
	Configuration string
	CA            []byte // PEM
	Log           logr.Logger
}

// Start injects until ctx is done.
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

func (i *Injector) inject(ctx context.Context) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configuration, err := getConfiguration(ctx, i.Client, i.Configuration)
		if err != nil {
			return err
		}
		changed, err := putBundle(ctx, i.Client, configuration, i.CA)
		if changed {
			i.Log.Info("CA injected", "configuration", i.Configuration)
		}
		return err
	})
}
