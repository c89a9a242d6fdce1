package webhook

import (
	"context"
	"time"

	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lookupTimeout bounds a look-up: three of them (of the namespace, of the class, and
// of the class before a denial) fit into the webhook's own timeout of 3 s.
const lookupTimeout = 900 * time.Millisecond

// A classFunc finds a RuntimeClass by name.
type classFunc func(context.Context, string) (*nodev1.RuntimeClass, error)

// classesOf finds RuntimeClasses with a reader, in lookupTimeout at most.
func classesOf(reader client.Reader) classFunc {
	return func(ctx context.Context, name string) (*nodev1.RuntimeClass, error) {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		class := &nodev1.RuntimeClass{}
		return class, reader.Get(ctx, client.ObjectKey{Name: name}, class)
	}
}

// classesIn finds RuntimeClasses in a store.
func classesIn(s *store[*nodev1.RuntimeClass]) classFunc {
	return func(_ context.Context, name string) (*nodev1.RuntimeClass, error) {
		if class, ok := s.get(name); ok {
			return class, nil
		}
		return nil, apierrors.NewNotFound(nodev1.Resource("runtimeclasses"), name)
	}
}

// orLive asks live for a class that is not in the cache: it may have been
// created a moment ago.
func orLive(cached, live classFunc) classFunc {
	return func(ctx context.Context, name string) (*nodev1.RuntimeClass, error) {
		class, err := cached(ctx, name)
		if !apierrors.IsNotFound(err) {
			return class, err
		}
		return live(ctx, name)
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
