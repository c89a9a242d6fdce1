package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// policies keeps all RuntimePolicies ready to be asked. One that cannot be made
// ready is logged and enforces nothing; the schema and the policies' own
// review let none pass.
type policies struct {
	log        logr.Logger
	namespaces func(ctx context.Context, name string) (labels.Set, error)

	mu     sync.RWMutex
	byName map[string]*Policy
}

func newPolicies(log logr.Logger, cached, live client.Reader) *policies {
	return &policies{log: log, namespaces: namespaceLabels(cached, live), byName: map[string]*Policy{}}
}

func (p *policies) set(object *v1alpha1.RuntimePolicy) {
	policy, err := NewPolicy(object)
	if err != nil {
		p.log.Error(err, "RuntimePolicy is not enforced", "policy", object.Name)
		p.remove(object.Name)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byName[object.Name] = policy
}

func (p *policies) remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byName, name)
}

// all returns all policies that are enforced, in no order.
func (p *policies) all() []*Policy {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Collect(maps.Values(p.byName))
}

// rules returns the rules of a namespace. Without policies nobody asks for the
// namespace.
func (p *policies) rules(ctx context.Context, namespace string) (Rules, error) {
	all := p.all()
	if len(all) == 0 {
		return Rules{}, nil
	}
	set, err := p.namespaces(ctx, namespace)
	if err != nil {
		return Rules{}, err
	}
	return RulesFor(all, set), nil
}

// watch follows the RuntimePolicies of a cache.
func (p *policies) watch(ctx context.Context, objects cache.Cache) (synced func() bool, err error) {
	informer, err := objects.GetInformer(ctx, &v1alpha1.RuntimePolicy{})
	if err != nil {
		return nil, fmt.Errorf("watch RuntimePolicies (are runtimegate's CRDs installed?): %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { p.event(obj, p.set) },
		UpdateFunc: func(_, obj any) { p.event(obj, p.set) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			p.event(obj, func(policy *v1alpha1.RuntimePolicy) { p.remove(policy.Name) })
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch RuntimePolicies: %w", err)
	}
	return registration.HasSynced, nil
}

func (p *policies) event(obj any, do func(*v1alpha1.RuntimePolicy)) {
	if policy, ok := obj.(*v1alpha1.RuntimePolicy); ok {
		do(policy)
	}
}

// namespaceObject is what is asked for of a namespace.
func namespaceObject() *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return object
}

// namespaceList is what is asked for of all namespaces.
func namespaceList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	return list
}

// namespaceLabels finds the labels of a namespace in the cache, and asks the
// API server once for one that is not there.
func namespaceLabels(cached, live client.Reader) func(context.Context, string) (labels.Set, error) {
	return func(ctx context.Context, name string) (labels.Set, error) {
		namespace := namespaceObject()
		err := cached.Get(ctx, client.ObjectKey{Name: name}, namespace)
		if apierrors.IsNotFound(err) {
			ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
			defer cancel()
			err = live.Get(ctx, client.ObjectKey{Name: name}, namespace)
		}
		return namespace.Labels, err
	}
}
