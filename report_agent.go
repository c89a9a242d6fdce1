package main

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// runAgent keeps the NodeRuntime up to date until it is told to end.
func (o *reportOptions) runAgent(cmd *cobra.Command) error {
	log, err := newLogger(cmd.ErrOrStderr(), o.logFormat)
	if err != nil {
		return err
	}
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	observer, closeRoot, err := o.observed.observer()
	if err != nil {
		return err
	}
	defer closeRoot()
	c, err := o.client()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	agent := &inventory.Agent{
		Node: o.node, Poll: o.poll, Heartbeat: o.heartbeat, Log: log,
		Published: published(ctx, c, o.node, log),
		Publish:   func(ctx context.Context, r *v1alpha1.NodeRuntime) error { return inventory.Publish(ctx, c, r) },
	}
	watch := func([]string) {}
	if watcher, err := inventory.NewWatcher(observer.Host, observer.Root); err != nil {
		log.Error(err, "Can't watch files; changes show at the next poll")
	} else {
		defer watcher.Close()
		agent.Hints, watch = watcher.Hints, watcher.Watch
	}
	agent.Observe = observeWith(observer, watch, log)
	log.Info("Reporting", "node", o.node, "poll", o.poll.String(), "heartbeat", o.heartbeat.String())
	agent.Run(ctx)
	return nil
}

// observeWith finds the socket anew at every look: a runtime may come up after
// the agent. What was taken is logged when it changes. What a look needs of the
// program is not needed between two of them.
func observeWith(observer *inventory.Observer, watch func([]string), log logr.Logger) func(context.Context) (*inventory.Observation, error) {
	taken, release := "", programReleaser()
	return func(ctx context.Context) (*inventory.Observation, error) {
		defer release()
		endpoint, err := observer.Find()
		if err != nil {
			return nil, err
		}
		if endpoint.Socket != taken {
			taken = endpoint.Socket
			log.Info("Asking a runtime", "socket", endpoint.Socket, "why", endpoint.Why, "others", endpoint.Others)
		}
		seen, err := observer.Observe(ctx, endpoint)
		if err == nil {
			watch(seen.Folders())
		}
		return seen, err
	}
}

// published is what the cluster has of the node. Without it an agent whose
// runtime is silent has nothing to say, which is not worse than an error.
func published(ctx context.Context, c client.Client, node string, log logr.Logger) *v1alpha1.NodeRuntime {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	report := &v1alpha1.NodeRuntime{}
	err := c.Get(ctx, client.ObjectKey{Name: node}, report)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			log.Error(err, "Can't read what is published", "node", node)
		}
		return nil
	}
	return report
}

func (o *reportOptions) checkAgent() error {
	switch {
	case o.output != "" || o.dump != "":
		return errors.New("-o and --dump need --once")
	case o.poll < time.Second || o.heartbeat < o.poll:
		return errors.New("--poll must be at least 1s, and --heartbeat not below it")
	}
	return nil
}
