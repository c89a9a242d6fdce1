package webhook

import (
	"context"
	"time"

	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// liveTimeout bounds a look-up; the webhook's own timeout is 3 s.
const liveTimeout = time.Second

// classLookup finds RuntimeClasses in the cache, and asks the API server once
// for one that is not there: it may have been created a moment ago.
func classLookup(cached, live client.Reader) func(context.Context, string) (*nodev1.RuntimeClass, error) {
	return func(ctx context.Context, name string) (*nodev1.RuntimeClass, error) {
		// The cache waits for its first list for as long as that takes.
		ctx, cancel := context.WithTimeout(ctx, liveTimeout)
		defer cancel()
		class := &nodev1.RuntimeClass{}
		err := cached.Get(ctx, client.ObjectKey{Name: name}, class)
		if !apierrors.IsNotFound(err) {
			return class, err
		}
		return class, live.Get(ctx, client.ObjectKey{Name: name}, class)
	}
}
