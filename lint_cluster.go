package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook"
)

// lintTimeout bounds all that lint asks of the cluster, unless
// --request-timeout says otherwise. Thousands of Nodes take several pages.
const lintTimeout = 30 * time.Second

// lintPage is how many objects are asked for at once.
const lintPage = 500

// readCluster applies to a state what the cluster has of all that verdicts
// depend on. A policy that cannot be enforced is noted, as the webhook passes it
// over.
func readCluster(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme, state *webhook.State, note func(string, ...any)) error {
	cfg = rest.CopyConfig(cfg)
	timeout := cmp.Or(cfg.Timeout, lintTimeout)
	cfg.Timeout = 0 // one clock, of all pages together
	cfg.QPS = -1    // a few lists need no brake
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// All kinds are known, so that nothing need be discovered.
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range stateKinds {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	for _, kind := range []struct {
		name string
		list func() client.ObjectList
		// optional: the cluster may not serve it.
		optional bool
		// unknown: where to say why it is not known; nil if no verdict is possible
		// then.
		unknown *error
	}{
		{"Nodes", func() client.ObjectList { return &corev1.NodeList{} }, false, nil},
		{"NodeRuntimes", func() client.ObjectList { return &v1alpha1.NodeRuntimeList{} }, true, nil},
		{"RuntimeClasses", func() client.ObjectList { return &nodev1.RuntimeClassList{} }, false, nil},
		{"RuntimePolicies", func() client.ObjectList { return &v1alpha1.RuntimePolicyList{} }, true, &state.PoliciesUnknown},
		{"Namespaces", func() client.ObjectList { return &corev1.NamespaceList{} }, false, &state.NamespacesUnknown},
	} {
		err := listAll(ctx, c, kind.list, func(object runtime.Object) error {
			if err := state.Apply(object); err != nil {
				note("%v, so the webhook does not enforce it", err)
			}
			return nil
		})
		switch {
		case err == nil, kind.optional && apierrors.IsNotFound(err):
			continue
		case ctx.Err() != nil:
			err = fmt.Errorf("no answer within %s", timeout)
		}
		err = fmt.Errorf("cannot list the %s of %s: %w", kind.name, cfg.Host, err)
		if kind.unknown == nil || !apierrors.IsForbidden(err) {
			return err
		}
		*kind.unknown = err
		note("%v", err)
	}
	return nil
}

// listAll lists all objects of a kind, page by page.
func listAll(ctx context.Context, c client.Client, newList func() client.ObjectList, each func(runtime.Object) error) error {
	for token := ""; ; {
		list := newList()
		if err := c.List(ctx, list, client.Limit(lintPage), client.Continue(token)); err != nil {
			return err
		}
		if err := meta.EachListItem(list, each); err != nil {
			return err
		}
		if token = list.GetContinue(); token == "" {
			return nil
		}
	}
}
