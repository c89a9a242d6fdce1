package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// contactTimeout is how long the API server has to answer. A watch that is broken
// off is taken up again in silence, so it is asked beside.
const contactTimeout = 5 * time.Second

// A contact knows whether the API server of a watch still answers.
type contact struct {
	client client.Client
	// turned gets a value when it no longer answers, and when it does again.
	turned chan struct{}

	mu       sync.Mutex
	answered time.Time
	err      error
}

// newContact begins with an API server that has just answered.
func newContact(cfg *rest.Config, scheme *runtime.Scheme) (*contact, error) {
	short := rest.CopyConfig(cfg)
	short.Timeout = min(cmp.Or(cfg.Timeout, contactTimeout), contactTimeout)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(nodev1.SchemeGroupVersion.WithKind("RuntimeClass"), meta.RESTScopeRoot)
	c, err := client.New(short, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return &contact{client: c, turned: make(chan struct{}, 1), answered: time.Now()}, nil
}

// keep begins to ask again and again, and to say on stderr what has changed. end
// ends that, as does ctx.
func (c *contact) keep(ctx context.Context, every time.Duration, stderr io.Writer) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { c.ask(ctx, every, stderr) })
	return func() {
		cancel()
		asking.Wait()
	}
}

func (c *contact) ask(ctx context.Context, every time.Duration, stderr io.Writer) {
	tick := time.NewTicker(min(max(every, time.Second), contactTimeout))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := c.client.List(ctx, &nodev1.RuntimeClassList{}, client.Limit(1))
		if ctx.Err() != nil {
			return
		}
		if text := c.heard(err, time.Now()); text != "" {
			fmt.Fprintln(stderr, printable(text))
			select {
			case c.turned <- struct{}{}:
			default:
			}
		}
	}
}

// heard takes an answer, and returns what there is to say if it is another than
// the one before.
func (c *contact) heard(err error, now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.answered = now
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err // what was asked for is of no interest
	}
	was := c.err
	c.err = err
	switch {
	case was == nil && err != nil:
		return "warning: " + c.lostLocked()
	case was != nil && err == nil:
		return "note: the API server answers again: what is shown is current within a minute"
	}
	return ""
}

// lost says since when it has not answered; "" if it does.
func (c *contact) lost() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lostLocked()
}

func (c *contact) lostLocked() string {
	if c.err == nil {
		return ""
	}
	return fmt.Sprintf("the API server has not answered since %s: what is shown is of that time (%v)", c.answered.UTC().Format(time.RFC3339), oneLine(c.err))
}
