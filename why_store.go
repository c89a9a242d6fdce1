package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/webhook"
)

var eventKind = corev1.SchemeGroupVersion.WithKind("Event")

// storeKinds are the kinds that are read beside those of the State.
var storeKinds = append(slices.Clone(webhook.WorkloadKinds), corev1.SchemeGroupVersion.WithKind("Pod"), eventKind)

// An objectStore has the objects of storeKinds: a cluster, or a snapshot of one.
type objectStore interface {
	get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (client.Object, error)
	// each shows the objects of a namespace, "" for all of them.
	each(ctx context.Context, kind schema.GroupVersionKind, namespace string, visit func(client.Object)) error
}

// store is where the view finds objects.
func (v *clusterView) store() (objectStore, error) {
	if v.snapshot != "" {
		return snapshotStore(v.objects), nil
	}
	cfg := rest.CopyConfig(v.config)
	cfg.Timeout = cmp.Or(cfg.Timeout, lintTimeout)
	cfg.QPS = -1 // a few lists need no brake
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range storeKinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	c, err := client.New(cfg, client.Options{Scheme: v.scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return clusterStore{c}, nil
}

// A snapshotStore is what a snapshot holds.
type snapshotStore []readObject

func (s snapshotStore) get(_ context.Context, kind schema.GroupVersionKind, namespace, name string) (client.Object, error) {
	for i := range s {
		if s[i].kind == kind && s[i].GetNamespace() == namespace && s[i].GetName() == name {
			return s[i].Object, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, name)
}

func (s snapshotStore) each(_ context.Context, kind schema.GroupVersionKind, namespace string, visit func(client.Object)) error {
	for i := range s {
		if s[i].kind == kind && (namespace == "" || s[i].GetNamespace() == namespace) {
			visit(s[i].Object)
		}
	}
	return nil
}

// A clusterStore is a live cluster.
type clusterStore struct{ client.Client }

func (s clusterStore) get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (client.Object, error) {
	made, err := s.Scheme().New(kind)
	if err != nil {
		return nil, err
	}
	object := made.(client.Object)
	return object, s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
}

func (s clusterStore) each(ctx context.Context, kind schema.GroupVersionKind, namespace string, visit func(client.Object)) error {
	kind.Kind += "List"
	newList := func() client.ObjectList {
		made, err := s.Scheme().New(kind)
		if err != nil {
			panic(err) // all of storeKinds are in the scheme
		}
		return made.(client.ObjectList)
	}
	for token := ""; ; {
		list := newList()
		if err := s.List(ctx, list, client.InNamespace(namespace), client.Limit(lintPage), client.Continue(token)); err != nil {
			return fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			visit(o.(client.Object))
			return nil
		}); err != nil {
			return err
		}
		if token = list.GetContinue(); token == "" {
			return nil
		}
	}
}
