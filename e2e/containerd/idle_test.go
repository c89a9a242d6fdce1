package containerd

import (
	"context"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
)

const (
	// calm is how long an agent has to come to rest after its start.
	calm = 30 * time.Second
	// window is how long it is then watched: four polls at the usual interval.
	window = time.Minute
	mib    = 1 << 20
)

// BenchmarkIdle measures what the agent of a node costs while nothing happens
// there: the usual intervals, a real containerd, a real API server. RSS-peak is
// the most that it has during a look, RSS-start the most during its start.
func BenchmarkIdle(b *testing.B) {
	n := newNode(b, "2.4")
	must(b, n.Start(interrupted))
	root, err := build.Root()
	must(b, err)
	c, err := harness.StartCluster(interrupted, bin, b.TempDir())
	must(b, err)
	b.Cleanup(c.Stop)
	must(b, c.Install(interrupted, root))
	agent, err := c.StartReporter("gpu-a", "--host-root="+n.Dir)
	must(b, err)
	must(b, agent.WaitFor(interrupted, "the report", time.Minute, func(ctx context.Context) error {
		_, err := c.Must(ctx, "", "kubectl", "get", "nruntime", "gpu-a")
		return err
	}))
	rest(b, calm)
	for range b.N {
		before, err := agent.Usage()
		must(b, err)
		must(b, agent.ForgetPeak())
		started := time.Now()
		rest(b, window)
		after, err := agent.Usage()
		must(b, err)
		b.ReportMetric((after.CPU-before.CPU)/time.Since(started).Seconds()*1000, "millicores")
		b.ReportMetric(float64(after.RSS)/mib, "RSS-MiB")
		b.ReportMetric(float64(after.Anon)/mib, "RSS-anon-MiB")
		b.ReportMetric(float64(after.File)/mib, "RSS-file-MiB")
		b.ReportMetric(float64(after.Peak)/mib, "RSS-peak-MiB")
		b.ReportMetric(float64(before.Peak)/mib, "RSS-start-MiB")
		b.ReportMetric(0, "ns/op")
	}
}

// rest waits, unless the benchmark is interrupted.
func rest(b *testing.B, d time.Duration) {
	b.Helper()
	select {
	case <-time.After(d):
	case <-interrupted.Done():
		b.Fatal(interrupted.Err())
	}
}
