package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// A Server is a webhook that runs in a process of its own.
type Server struct {
	Name string
	// URL is where reviews are posted.
	URL string
	// Stats is where the process tells of itself, as to Prometheus.
	Stats string
	Pid   int
}

// A Case is what all servers are asked in one comparison.
type Case struct {
	Name  string
	HTTP2 bool
	Body  []byte
}

// Options say how long to measure.
type Options struct {
	// Rounds is how often each server has its turn.
	Rounds int
	// Duration is how long a server is kept busy in one, half of it more it is
	// asked one by one.
	Duration time.Duration
}

// busy is how many requests are under way at a time when a server is kept busy.
const busy = 16

// A Sample is what was measured of a server.
type Sample struct {
	CPU           time.Duration // of the server, for a request
	P50, P99      time.Duration // asked one by one
	Rate          float64       // requests a second, when kept busy
	Allocs, Bytes float64       // for a request, the server's own tasks included
	RSS           uint64
}

// Compare measures servers by turns, and returns the medians of the rounds in the
// order of the servers.
func Compare(ctx context.Context, servers []Server, c Case, o Options) ([]Sample, error) {
	samples := make([][]Sample, len(servers))
	for round := range o.Rounds {
		for i, s := range servers {
			sample, err := s.measure(ctx, c, o.Duration)
			if err != nil {
				return nil, fmt.Errorf("%s, %s, round %d: %w", s.Name, c.Name, round+1, err)
			}
			samples[i] = append(samples[i], sample)
		}
	}
	var medians []Sample
	for _, of := range samples {
		medians = append(medians, Sample{
			CPU: median(of, func(s Sample) time.Duration { return s.CPU }), Rate: median(of, func(s Sample) float64 { return s.Rate }),
			P50: median(of, func(s Sample) time.Duration { return s.P50 }), P99: median(of, func(s Sample) time.Duration { return s.P99 }),
			Allocs: median(of, func(s Sample) float64 { return s.Allocs }), Bytes: median(of, func(s Sample) float64 { return s.Bytes }),
			RSS: median(of, func(s Sample) uint64 { return s.RSS }),
		})
	}
	return medians, nil
}

func median[S any, T time.Duration | float64 | uint64](samples []S, of func(S) T) T {
	values := make([]T, 0, len(samples))
	for _, s := range samples {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// measure gives a server its turn.
func (s *Server) measure(ctx context.Context, c Case, duration time.Duration) (sample Sample, err error) {
	client := newClient(c.HTTP2)
	defer client.CloseIdleConnections()
	alone, err := load(ctx, client, s.URL, c.Body, 1, duration/2)
	if err != nil {
		return sample, err
	}
	sample.P50, sample.P99 = quantile(alone.took, .5), quantile(alone.took, .99)
	// The connections are not part of what a request costs.
	if _, err := load(ctx, client, s.URL, c.Body, busy, duration/20); err != nil {
		return sample, err
	}
	before, err := s.used(ctx)
	if err != nil {
		return sample, err
	}
	done, err := load(ctx, client, s.URL, c.Body, busy, duration)
	if err != nil {
		return sample, err
	}
	after, err := s.used(ctx)
	if err != nil {
		return sample, err
	}
	requests := float64(len(done.took))
	sample.CPU = time.Duration((after.cpu - before.cpu) / requests * float64(time.Second))
	sample.Rate = requests / done.lasted.Seconds()
	sample.Allocs = (after.mallocs - before.mallocs) / requests
	sample.Bytes = (after.bytes - before.bytes) / requests
	sample.RSS = after.rss
	return sample, nil
}

// quantile returns one of sorted times.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// used is what a server has used since its start.
type used struct {
	cpu            float64
	rss            uint64
	mallocs, bytes float64
}

func (s *Server) used(ctx context.Context) (u used, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Stats, nil)
	if err != nil {
		return u, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return u, err
	}
	defer response.Body.Close()
	into := map[string]*float64{"go_memstats_mallocs_total": &u.mallocs, "go_memstats_alloc_bytes_total": &u.bytes}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if at := into[name]; at != nil {
			if *at, err = strconv.ParseFloat(value, 64); err != nil {
				return u, err
			}
		}
	}
	if err := lines.Err(); err != nil || u.mallocs == 0 || u.bytes == 0 {
		return u, fmt.Errorf("%s tells of no allocations: %w", s.Stats, err)
	}
	process, err := harness.UsageOf(s.Pid)
	u.cpu, u.rss = process.CPU, process.RSS
	return u, err
}
