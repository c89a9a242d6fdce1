package inventory

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// CacheOptions make a cache keep no more of the objects that Feed watches than
// the index and the audit use, and read NodeRuntimes in one pass.
func CacheOptions(config *rest.Config, scheme *runtime.Scheme) (cache.Options, error) {
	kept := &keeper{}
	informers, err := newInformer(config, scheme, kept)
	if err != nil {
		return cache.Options{}, err
	}
	return cache.Options{
		NewInformer: informers,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}:          {Transform: transform(kept.node)},
			&v1alpha1.NodeRuntime{}: {Transform: transform(kept.report)},
			&nodev1.RuntimeClass{}:  {Transform: cache.TransformStripManagedFields()},
		},
	}, nil
}

// transform changes objects of a kind as they come into a cache.
func transform[T client.Object](change func(T) T) toolscache.TransformFunc {
	return func(object any) (any, error) {
		if object, ok := object.(T); ok {
			return change(object), nil
		}
		return object, nil
	}
}

// Feed keeps the index up to date with the Nodes and NodeRuntimes of a cache,
// until the context is done. The function that it returns says whether all that
// were there at the start are in the index.
func Feed(ctx context.Context, objects cache.Cache, index *Index) (synced func() bool, err error) {
	nodes, err := handle(ctx, objects, &corev1.Node{}, index.SetNode, index.DeleteNode)
	if err != nil {
		return nil, fmt.Errorf("watch Nodes: %w", err)
	}
	reports, err := handle(ctx, objects, &v1alpha1.NodeRuntime{}, index.SetReport, index.DeleteReport)
	if err != nil {
		return nil, fmt.Errorf("watch NodeRuntimes (are runtimegate's CRDs installed?): %w", err)
	}
	go index.follow(ctx)
	// Their last changes are not in a snapshot yet when the events have come.
	take := sync.OnceFunc(func() { index.renew(time.Now()) })
	return func() bool {
		if !nodes() || !reports() {
			return false
		}
		take()
		return true
	}, nil
}

func handle[T client.Object](ctx context.Context, objects cache.Cache, kind T, set func(T), remove func(string)) (func() bool, error) {
	informer, err := objects.GetInformer(ctx, kind)
	if err != nil {
		return nil, err
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if object, ok := obj.(T); ok {
				set(object)
			}
		},
		UpdateFunc: func(_, obj any) {
			if object, ok := obj.(T); ok {
				set(object)
			}
		},
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
