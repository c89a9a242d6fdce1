package scale

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// A writer writes the reports of node after node, but for the first, which is the
// probe.
type writer struct {
	every    time.Duration // 0: it does not
	restarts bool          // with a handler more
	next     int
	written  atomic.Int64
	late     time.Duration // behind its times, at the end
}

func (w *writer) run(ctx context.Context, c *cluster) error {
	if w.every == 0 {
		return nil
	}
	started := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		due := started.Add(time.Duration(n) * w.every)
		if wait := time.Until(due); wait > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
		}
		w.next = w.next%(*nodes-1) + 1
		has := handlers(w.next)
		if w.restarts {
			has = append(has, "youki")
		}
		if err := c.report(w.next, has); err != nil && ctx.Err() == nil {
			return err
		}
		w.written.Add(1)
		w.late = time.Since(due)
	}
	return nil
}

func (c *cluster) report(i int, handlers []string) error {
	value, err := reportValue(i, time.Now(), handlers)
	if err != nil {
		return err
	}
	_, err = c.etcd.Put(interrupted, reportKey(i), value)
	return err
}

// phase lets writers write for a while, and looks how soon serve knows what the
// probe reports.
func (c *cluster) phase(name string, writers ...*writer) {
	c.t.Helper()
	before, err := c.gate.Usage()
	must(c.t, err)
	started := time.Now()
	ctx, stop := context.WithTimeout(interrupted, *duration)
	defer stop()
	var group sync.WaitGroup
	var written int64
	for _, w := range writers {
		written -= w.written.Load()
		group.Go(func() {
			if err := w.run(ctx, c); err != nil {
				c.t.Error(err)
			}
		})
	}
	var took []time.Duration
	for i := 0; ctx.Err() == nil; i++ {
		took = append(took, c.probe(fmt.Sprintf("probe-%s-%d", name, i)))
		time.Sleep(100 * time.Millisecond)
	}
	group.Wait()
	after, err := c.gate.Usage()
	must(c.t, err)
	late := time.Duration(0)
	for _, w := range writers {
		written += w.written.Load()
		late = max(late, w.late)
	}
	slices.Sort(took)
	at := func(share float64) time.Duration {
		return took[int(share*float64(len(took)-1))].Round(100 * time.Microsecond)
	}
	seconds := time.Since(started).Seconds()
	fmt.Printf("scale: %-10s %5.0f reports/s (the writer is %s late), report to verdict p50 %s p99 %s max %s of %d, serve %.2f cores, RSS %d MiB, at most %d MiB\n",
		name, float64(written)/seconds, late.Round(time.Millisecond), at(.5), at(.99), at(1), len(took), (after.CPU-before.CPU)/seconds, after.RSS>>20, after.Peak>>20)
}

// probe has the first node report a handler that no other has, and returns how
// long it takes until serve says that one node has it.
func (c *cluster) probe(handler string) time.Duration {
	c.t.Helper()
	review := review(c, handler)
	started := time.Now()
	must(c.t, c.report(0, append(handlers(0), handler)))
	for {
		said, err := c.ask(review)
		must(c.t, err)
		if strings.Contains(said, "is loaded on 1 of ") {
			return time.Since(started)
		}
		if time.Since(started) > time.Minute {
			c.t.Fatalf("after a minute serve says %q of %s", said, handler)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// review is the request about a RuntimeClass of a handler.
func review(c *cluster, handler string) []byte {
	class, err := json.Marshal(nodev1.RuntimeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "node.k8s.io/v1", Kind: "RuntimeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: handler}, Handler: handler,
	})
	must(c.t, err)
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Kind: metav1.GroupVersionKind{Group: "node.k8s.io", Version: "v1", Kind: "RuntimeClass"}, Name: handler,
			Operation: admissionv1.Create, Object: apiruntime.RawExtension{Raw: class},
		},
	})
	must(c.t, err)
	return body
}

// insecure takes any certificate: serve makes its own.
var insecure = &http.Client{
	Timeout:   30 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

// ask returns what serve warns of.
func (c *cluster) ask(review []byte) (string, error) {
	response, err := insecure.Post("https://"+c.gate.Webhook+"/validate-runtimeclasses", "application/json", bytes.NewReader(review))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", err
	}
	if answer.Response == nil {
		return "", fmt.Errorf("serve answers nothing: %s", response.Status)
	}
	return strings.Join(answer.Response.Warnings, "\n"), nil
}
