package certs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Who connects while there is no certificate is told why. What one of them reads must
// not change below it when the reason does: half of a text with the length of another
// ends the process.
func TestTroubleIsReadAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reasons := []string{"forbidden", "forbidden", "a time-out, at last"}
		looks := 0
		api := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				looks++
				return errors.New(reasons[min(looks, len(reasons))-1])
			},
			Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (events, error) {
				return nil, errors.New("forbidden")
			},
		})
		var logged []string
		k := NewKeeper(KeeperOptions{Client: api, Log: funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Start(ctx) }()
		synctest.Wait()
		first := k.trouble.Load()
		if _, err := k.GetCertificate(nil); err == nil || !strings.HasSuffix(err.Error(), ": forbidden") {
			t.Errorf("at first: %v", err)
		}
		time.Sleep(3 * retryAfter)
		synctest.Wait()
		if !strings.HasSuffix(*first, ": forbidden") {
			t.Errorf("what was read has become %q", *first)
		}
		if _, err := k.GetCertificate(nil); err == nil || !strings.HasSuffix(err.Error(), ": a time-out, at last") {
			t.Errorf("later: %v", err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(logged) != 2 {
			t.Errorf("%d lines for 2 reasons: %s", len(logged), fmt.Sprint(logged))
		}
	})
}
