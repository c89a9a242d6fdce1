package scale

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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
	started := time.Now()
	must(c.t, c.report(0, append(handlers(0), handler)))
	for {
		said, err := c.gate.Ask(handler)
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
