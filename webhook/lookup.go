package webhook

import (
	"context"
	"time"

	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// liveTimeout bounds a look-up at the API server; the webhook's own timeout is
// 3 s.
const liveTimeout = time.Second

// classLookup finds RuntimeClasses in the cache, and asks the API server once
// for one that is not there: it may have been created a moment ago.
func classLookup(cached, live client.Reader) func(context.Context, string) (*nodev1.RuntimeClass, error) {
	return func(ctx context.Context, name string) (*nodev1.RuntimeClass, error) {
		class := &nodev1.RuntimeClass{}
		err := cached.Get(ctx, client.ObjectKey{Name: name}, class)
		if !apierrors.IsNotFound(err) {
			return class, err
		}
		ctx, cancel := context.WithTimeout(ctx, liveTimeout)
		defer cancel()
		return class, live.Get(ctx, client.ObjectKey{Name: name}, class)
	}
}

// classList lists the RuntimeClasses in the cache; none if it fails, since it
// is for hints.
func classList(cached client.Reader) func(context.Context) []nodev1.RuntimeClass {
	return func(ctx context.Context) []nodev1.RuntimeClass {
		list := &nodev1.RuntimeClassList{}
		if err := cached.List(ctx, list); err != nil {
			return nil
		}
		return list.Items
	}
}
