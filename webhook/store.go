package webhook

import (
	"context"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A store keeps the objects of one kind in a cache by their names. They are the
// cache's own and must not be changed: a look-up in the cache itself copies the
// object, which takes longer than a verdict.
type store[T client.Object] struct {
	mu     sync.RWMutex
	byName map[string]T
}

func newStore[T client.Object]() *store[T] {
	return &store[T]{byName: map[string]T{}}
}

func (s *store[T]) get(name string) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	object, ok := s.byName[name]
	return object, ok
}

func (s *store[T]) set(object T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[object.GetName()] = object
}

func (s *store[T]) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, name)
}

// follow tells of the objects of a kind in a cache. The function that it returns
// says whether all that were there at the start have been told of.
func follow[T client.Object](ctx context.Context, objects cache.Cache, kind T, set func(T), remove func(name string)) (synced func() bool, err error) {
	informer, err := objects.GetInformer(ctx, kind)
	if err != nil {
		return nil, err
	}
	tell := func(obj any) {
		if object, ok := obj.(T); ok {
			set(object)
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    tell,
		UpdateFunc: func(_, obj any) { tell(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if object, ok := obj.(T); ok {
				remove(object.GetName())
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return registration.HasSynced, nil
}
