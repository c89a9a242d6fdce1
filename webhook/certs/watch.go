package certs

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// events is what a watch gives.
type events = apiwatch.Interface

// watch tells of changes until ctx is done. What they are is read anew: a watch
// may lag, or fail.
func watch(ctx context.Context, changed chan<- struct{}, open func() (events, error)) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		w, err := open()
		if err != nil {
			return // the next look meets the same error, and tells
		}
		defer w.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case _, open := <-w.ResultChan():
				if !open {
					return
				}
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		}
	}, time.Second)
}
