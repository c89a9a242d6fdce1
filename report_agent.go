package main

import (
	"context"
	"errors"
	"math"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/cri"
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
	before := published(ctx, c, o.node, log)
	agent := &inventory.Agent{
		Node: o.node, Poll: o.poll, Heartbeat: o.heartbeat, Log: log, Published: before,
		Publish: func(ctx context.Context, r *v1alpha1.NodeRuntime) error { return inventory.Publish(ctx, c, r) },
	}
	watch := func(folders, files []string) {}
	if watcher, err := inventory.NewWatcher(observer.Host, observer.Root); err != nil {
		log.Error(err, "Can't watch files; changes show at the next poll")
	} else {
		defer watcher.Close()
		agent.Hints, watch = watcher.Hints, watcher.Watch
	}
	agent.Observe = observeWith(observer, socketOf(before), watch, log)
	log.Info("Reporting", "node", o.node, "poll", o.poll.String(), "heartbeat", o.heartbeat.String())
	agent.Run(ctx)
	return nil
}

// socketOf is the socket that was asked for a report, "" if that is not known.
func socketOf(report *v1alpha1.NodeRuntime) string {
	if report == nil || report.Spec.Source != v1alpha1.SourceCRI {
		return ""
	}
	socket, err := cri.ParseEndpoint(report.Spec.Runtime.Endpoint)
	if err != nil {
		return ""
	}
	return socket
}

// observeWith finds the socket anew at every look: a runtime may come up after
// the agent, and the kubelet may be told another. before is the one that was asked
// by the agent's predecessor. What was taken is logged when it changes. What a look
// needs of the program is not needed between two of them.
func observeWith(observer *inventory.Observer, before string, watch func(folders, files []string), log logr.Logger) func(context.Context) (*inventory.Observation, error) {
	taken, logged, release := before, "", programReleaser()
	return func(ctx context.Context) (*inventory.Observation, error) {
		defer release()
		endpoint, err := observer.Find(taken)
		if err != nil {
			return nil, err
		}
		if endpoint.Socket != logged {
			logged = endpoint.Socket
			log.Info("Asking a runtime", "socket", endpoint.Socket, "why", endpoint.Why, "others", endpoint.Others)
		}
		seen, err := observer.Observe(ctx, endpoint)
		if err == nil {
			taken = endpoint.Socket
			watch(seen.Folders(), seen.Files())
		}
		return seen, err
	}
}

// published is what the cluster has of the node. Nothing may be written before
// that is known: it is what the runtime had, if it does not answer now, and what
// it has lost, if it does. So it is asked for until there is an answer.
func published(ctx context.Context, c client.Client, node string, log logr.Logger) *v1alpha1.NodeRuntime {
	pauses := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 1, Steps: math.MaxInt32, Cap: 30 * time.Second}
	for ctx.Err() == nil {
		report, err := readPublished(ctx, c, node)
		if err == nil {
			return report
		}
		pause := pauses.Step()
		log.Error(err, "Can't read what is published", "node", node, "next try in", pause.Round(time.Millisecond).String())
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// readPublished asks the cluster once for what it has of the node; nil for nothing.
func readPublished(ctx context.Context, c client.Client, node string) (*v1alpha1.NodeRuntime, error) {
	bounded, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	report := &v1alpha1.NodeRuntime{}
	err := c.Get(bounded, client.ObjectKey{Name: node}, report)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return report, nil
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
