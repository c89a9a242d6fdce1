package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook"
)

// watchTick is how often what changes by time alone (reports that grow too old) is
// looked at.
const watchTick = 30 * time.Second

// follow shows the status anew whenever it has changed, until ctx is done. It
// watches the cluster: a change costs no listing.
func (o *statusOptions) follow(ctx context.Context, cmd *cobra.Command, view *clusterView) error {
	cfg, err := clusterConfigOr(o.cluster, "")
	if err != nil {
		return err
	}
	view.config = cfg
	log.SetLogger(logr.Discard()) // what it says is on the screen
	objects, changed, err := watchCluster(ctx, cfg, view.scheme)
	if err != nil {
		return err
	}
	gate, err := o.gate.options()
	if err != nil {
		return err
	}
	contact, err := newContact(cfg, view.scheme)
	if err != nil {
		return err
	}
	screen := isTerminal(cmd.OutOrStdout())
	stderr := cmd.ErrOrStderr()
	if screen && isTerminal(stderr) {
		stderr = io.Discard // it is on the screen
	}
	defer contact.keep(ctx, o.interval, stderr)()
	var before []byte
	for {
		view.state = webhook.NewState(gate)
		if err := objects.fill(ctx, view.state); err != nil {
			return ended(ctx, err)
		}
		view.time = time.Now()
		s := o.statusOf(ctx, view)
		s.At = time.Time{} // it is no change that time goes on
		var text, out bytes.Buffer
		if err := writeStatus(&text, o.output, s); err != nil {
			return err
		}
		lost := ""
		if screen {
			lost = contact.lost()
			text.WriteString(lost)
		}
		if !bytes.Equal(text.Bytes(), before) {
			before = bytes.Clone(text.Bytes())
			if err := o.show(&out, cmd, s, view.time, screen, lost); err != nil {
				return err
			}
		}
		if !awaitChange(ctx, changed, contact.turned, o.interval) {
			return nil
		}
	}
}

// show prints one status: on a terminal in place of the one before and with what is
// lost, else after it.
func (o *statusOptions) show(out *bytes.Buffer, cmd *cobra.Command, s *status, now time.Time, screen bool, lost string) error {
	s.At = now.UTC()
	if screen {
		out.WriteString("\x1b[H\x1b[2J")
		p := &printer{colour: wantsColour(cmd.OutOrStdout())}
		if o.output == "text" || o.output == "wide" {
			p.status(s, o.output == "wide")
			out.Write(p.Bytes())
		} else if err := writeStatus(out, o.output, s); err != nil {
			return err
		}
		if lost != "" {
			fmt.Fprintf(out, "\n%s\n", (&printer{colour: wantsColour(cmd.OutOrStdout())}).paint(red, printable(lost)))
		}
	} else {
		if err := writeStatus(out, o.output, s); err != nil {
			return err
		}
		if o.output == "yaml" {
			out.WriteString("---")
		}
		out.WriteString("\n")
	}
	_, err := cmd.OutOrStdout().Write(out.Bytes())
	return err
}

// awaitChange waits for a change, but no shorter than pause, or until the contact
// turned; false at the end of ctx.
func awaitChange(ctx context.Context, changed, turned <-chan struct{}, pause time.Duration) bool {
	for _, until := range []<-chan time.Time{time.After(pause), nil} {
		var hint <-chan struct{}
		tick := until
		if until == nil {
			hint, tick = changed, time.After(watchTick)
		}
		select {
		case <-ctx.Done():
			return false
		case <-turned:
			return true
		case <-tick:
		case <-hint:
		}
	}
	return true
}

// ended is the error of a command that was not told to stop.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// watchedObjects are the objects that status is about, kept up to date.
type watchedObjects struct {
	cache cache.Cache
	lists []func() client.ObjectList
}

// watchCluster begins to watch. changed gets a value after a change.
func watchCluster(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme) (*watchedObjects, <-chan struct{}, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range stateKinds {
		mapper.Add(kind, meta.RESTScopeRoot)
	}
	objects := cache.Options{Scheme: scheme, Mapper: mapper, DefaultTransform: cache.TransformStripManagedFields(), ByObject: map[client.Object]cache.ByObject{
		&corev1.Node{}: {Transform: func(object any) (any, error) {
			if node, ok := object.(*corev1.Node); ok {
				kept := inventory.StripNode(node)
				kept.Status.NodeInfo.ContainerRuntimeVersion = node.Status.NodeInfo.ContainerRuntimeVersion
				return kept, nil
			}
			return object, nil
		}},
	}}
	w := &watchedObjects{lists: []func() client.ObjectList{
		func() client.ObjectList { return &corev1.NodeList{} },
		func() client.ObjectList { return &nodev1.RuntimeClassList{} },
	}}
	kinds := []client.Object{&corev1.Node{}, &nodev1.RuntimeClass{}}
	has, err := servesReports(ctx, cfg, scheme, mapper)
	if err != nil {
		return nil, nil, err
	}
	if has {
		kinds = append(kinds, &v1alpha1.NodeRuntime{})
		w.lists = append(w.lists, func() client.ObjectList { return &v1alpha1.NodeRuntimeList{} })
	}
	if w.cache, err = cache.New(cfg, objects); err != nil {
		return nil, nil, fmt.Errorf("reach the cluster: %w", err)
	}
	changed := make(chan struct{}, 1)
	hint := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	for _, kind := range kinds {
		informer, err := w.cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, nil, fmt.Errorf("watch %s: %w", cfg.Host, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { hint() }, UpdateFunc: func(any, any) { hint() }, DeleteFunc: func(any) { hint() },
		}); err != nil {
			return nil, nil, fmt.Errorf("watch %s: %w", cfg.Host, err)
		}
	}
	return w, changed, w.start(ctx, cfg)
}

// start starts the watch, and waits until all is known.
func (w *watchedObjects) start(ctx context.Context, cfg *rest.Config) error {
	failed := make(chan error, 1)
	go func() { failed <- w.cache.Start(ctx) }()
	timeout := cmp.Or(cfg.Timeout, lintTimeout)
	synced, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var done sync.WaitGroup
	defer done.Wait()
	ok := make(chan bool, 1)
	done.Go(func() { ok <- w.cache.WaitForCacheSync(synced) })
	select {
	case err := <-failed:
		cancel()
		return fmt.Errorf("watch %s: %w", cfg.Host, err)
	case known := <-ok:
		if !known && ctx.Err() == nil {
			return fmt.Errorf("watch %s: not all Nodes, NodeRuntimes and RuntimeClasses are there within %s", cfg.Host, timeout)
		}
	}
	return nil
}

// fill applies all that is known to a State.
func (w *watchedObjects) fill(ctx context.Context, state *webhook.State) error {
	for _, newList := range w.lists {
		list := newList()
		if err := w.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		if err := meta.EachListItem(list, state.Apply); err != nil {
			return err
		}
	}
	return nil
}

// servesReports says whether runtimegate's CRDs are installed. It is the first
// question, too: what is wrong with the cluster is told at once.
func servesReports(ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme, mapper meta.RESTMapper) (bool, error) {
	short := rest.CopyConfig(cfg)
	short.Timeout = cmp.Or(cfg.Timeout, clusterTimeout)
	c, err := client.New(short, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return false, fmt.Errorf("reach the cluster: %w", err)
	}
	err = c.List(ctx, &v1alpha1.NodeRuntimeList{}, client.Limit(1))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot list the NodeRuntimes of %s: %w", cfg.Host, err)
	}
	return true, nil
}
