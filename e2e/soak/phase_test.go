package soak

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// A phase is a part of the soak that is measured by itself.
type phase struct {
	name string
	took time.Duration

	failed   atomic.Int64 // writes
	events   atomic.Int64 // that the watch showed
	writes   samples      // of those that succeeded, how long each took
	restarts samples      // from a node's restart to its event in a watch
	serve    samples      // from the probe's restart to serve's answer
	sent     int64        // bytes
	received int64
	heap     uint64 // of this process, at the end

	plane, gate, own cost
	machine          float64 // cores that worked
}

// A cost is what a process has used in a phase.
type cost struct {
	harness.Usage         // at the end
	cores         float64 // on average
}

// samples are measured durations.
type samples struct {
	mu  sync.Mutex
	all []time.Duration
}

func (s *samples) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, d)
}

func (s *samples) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// String gives the median, the 99th percentile and the maximum.
func (s *samples) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return "-"
	}
	slices.Sort(s.all)
	at := func(share float64) string {
		d := s.all[int(share*float64(len(s.all)-1))]
		if d < time.Second {
			return d.Round(100 * time.Microsecond).String()
		}
		return d.Round(10 * time.Millisecond).String()
	}
	return at(0.5) + " " + at(0.99) + " " + at(1)
}

// table writes a column for each phase.
func table(w io.Writer, phases []*phase) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	row := func(name string, cell func(*phase) string) {
		cells := []string{name}
		for _, p := range phases {
			cells = append(cells, cell(p))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t")+"\t")
	}
	rate := func(p *phase, n float64) string { return fmt.Sprintf("%.1f", n/p.took.Seconds()) }
	row("", func(p *phase) string { return p.name })
	row("seconds", func(p *phase) string { return fmt.Sprintf("%.1f", p.took.Seconds()) })
	row("writes", func(p *phase) string { return fmt.Sprint(p.writes.count()) })
	row("writes/s", func(p *phase) string { return rate(p, float64(p.writes.count())) })
	row("failed writes", func(p *phase) string { return fmt.Sprint(p.failed.Load()) })
	row("a write takes (p50 p99 max)", func(p *phase) string { return p.writes.String() })
	row("to the API server, kB/s", func(p *phase) string { return rate(p, float64(p.sent)/1000) })
	row("from it, kB/s", func(p *phase) string { return rate(p, float64(p.received)/1000) })
	row("watch events", func(p *phase) string { return fmt.Sprint(p.events.Load()) })
	row("watch events/s", func(p *phase) string { return rate(p, float64(p.events.Load())) })
	row("restarts", func(p *phase) string { return fmt.Sprint(p.restarts.count()) })
	row("restart to watch (p50 p99 max)", func(p *phase) string { return p.restarts.String() })
	row("restart to serve's answer", func(p *phase) string { return p.serve.String() })
	row("control plane, cores", func(p *phase) string { return fmt.Sprintf("%.2f", p.plane.cores) })
	row("control plane, MiB", func(p *phase) string { return fmt.Sprint(p.plane.RSS >> 20) })
	row("serve, cores", func(p *phase) string { return fmt.Sprintf("%.2f", p.gate.cores) })
	row("serve, MiB", func(p *phase) string { return fmt.Sprint(p.gate.RSS >> 20) })
	row("reporters and watch, cores", func(p *phase) string { return fmt.Sprintf("%.2f", p.own.cores) })
	row("whole machine, cores", func(p *phase) string { return fmt.Sprintf("%.2f", p.machine) })
	row("heap of reporters and watch, MiB", func(p *phase) string { return fmt.Sprint(p.heap >> 20) })
	return t.Flush()
}
