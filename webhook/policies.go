package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	list   []*Policy // replaced whole
}

func newPolicies(log logr.Logger, namespaces func(context.Context, string) (labels.Set, error)) *policies {
	return &policies{log: log, namespaces: namespaces, byName: map[string]*Policy{}}
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
	p.list = slices.Collect(maps.Values(p.byName))
}

func (p *policies) remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byName, name)
	p.list = slices.Collect(maps.Values(p.byName))
}

// all returns all policies that are enforced, in no order. The list must not be
// changed.
func (p *policies) all() []*Policy {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.list
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
		rules, sure := rulesByName(all, namespace)
		if sure {
			err = nil
		}
		return rules, err
	}
	return RulesFor(all, set), nil
}

// watch follows the RuntimePolicies of a cache.
func (p *policies) watch(ctx context.Context, objects cache.Cache) (synced func() bool, err error) {
	synced, err = follow(ctx, objects, &v1alpha1.RuntimePolicy{}, p.set, p.remove)
	if err != nil {
		return nil, fmt.Errorf("watch RuntimePolicies (are runtimegate's CRDs installed?): %w", err)
	}
	return synced, nil
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

// namespaceLabels finds the labels of a namespace in a store, and asks the API
// server once for one that is not there.
func namespaceLabels(known *store[*metav1.PartialObjectMetadata], live client.Reader) func(context.Context, string) (labels.Set, error) {
	return func(ctx context.Context, name string) (labels.Set, error) {
		if namespace, ok := known.get(name); ok {
			return namespace.Labels, nil
		}
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		namespace := namespaceObject()
		err := live.Get(ctx, client.ObjectKey{Name: name}, namespace)
		return namespace.Labels, err
	}
}
