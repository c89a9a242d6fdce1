package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/e2e/build"
)

// newServer is a webhook in this process, which gives one answer.
func newServer(t *testing.T, name, answer string) Server {
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, answer)
	}))
	hook.EnableHTTP2 = true
	hook.StartTLS()
	t.Cleanup(hook.Close)
	mallocs := 0
	stats := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mallocs += 1000
		fmt.Fprintf(w, "# HELP\ngo_memstats_mallocs_total %d\ngo_memstats_alloc_bytes_total 2.5e+06\n", mallocs)
	}))
	t.Cleanup(stats.Close)
	return Server{Name: name, URL: hook.URL, Stats: stats.URL, Pid: os.Getpid()}
}

func TestCompare(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range Sizes {
		for _, http2 := range []bool{false, true} {
			body, err := Review(root, size)
			if err != nil {
				t.Fatal(err)
			}
			servers := []Server{newServer(t, Floor, `{"allowed":true}`), newServer(t, Runtimegate, `{"allowed":true}`)}
			samples, err := Compare(t.Context(), servers, Case{size, http2, body}, Options{Rounds: 1, Duration: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range samples {
				if s.CPU < 0 || s.P50 <= 0 || s.P99 < s.P50 || s.Rate <= 0 || s.Allocs <= 0 || s.RSS == 0 {
					t.Errorf("%s: %+v", servers[i].Name, s)
				}
			}
		}
	}
}

// A server that does not do what it is measured for is no server to compare with.
func TestCompareWantsAllowed(t *testing.T) {
	_, err := Compare(t.Context(), []Server{newServer(t, "no", `{"allowed":false}`)}, Case{Name: "c"}, Options{Rounds: 1, Duration: 10 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), `no, c, round 1: 200 OK: {"allowed":false}`) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ctx, []Server{newServer(t, "s", `{"allowed":true}`)}, Case{}, Options{Rounds: 1, Duration: time.Hour}); err == nil {
		t.Error("a run that was interrupted went on")
	}
}

func TestReport(t *testing.T) {
	sample := func(cpu time.Duration) Sample {
		return Sample{CPU: cpu, P50: 115 * time.Microsecond, P99: 423 * time.Microsecond, Rate: 14860.4, Allocs: 36.6, Bytes: 13677, RSS: 54 << 20}
	}
	report := Report{Machine: "m", Options: Options{Rounds: 5, Duration: 2 * time.Second}, Creates: 3,
		Comparisons: []Comparison{{
			Case:    Case{Name: "HTTP/1.1, Pod of 4 KiB"},
			Servers: []Server{{Name: Floor}, {Name: PodSecurity}, {Name: Runtimegate}},
			Samples: []Sample{sample(50 * time.Microsecond), sample(500 * time.Microsecond), sample(130 * time.Microsecond)},
			Targets: map[string]float64{Floor: 2.5, PodSecurity: .33, Gatekeeper: .15},
		}},
		Scale:      Scale{"Coverage/anywhere": {1000: 850, 100000: 1234.5}, "Fill": {1000: 1e6}},
		Admissions: []Admission{{Pod: "a class", Without: 2 * time.Millisecond, With: 2500 * time.Microsecond, Without99: 4 * time.Millisecond, With99: 5 * time.Millisecond}},
	}
	want := `Machine: m. Medians of 5 rounds of 2s for each server, by turns; the client runs on the same machine.

### HTTP/1.1, Pod of 4 KiB

| server | CPU µs a request | to floor | to PSA | to Gatekeeper | p50 µs | p99 µs | requests/s | allocations | KiB allocated | RSS MiB |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| floor | 50 | 1.00 | 0.10 | – | 115 | 423 | 14860 | 37 | 13.4 | 54 |
| pod-security-admission | 500 | 10.00 | 1.00 | – | 115 | 423 | 14860 | 37 | 13.4 | 54 |
| runtimegate | 130 | 2.60 | 0.26 | – | 115 | 423 | 14860 | 37 | 13.4 | 54 |

- at most 2.5 of floor: **missed** (2.60)
- at most 0.33 of pod-security-admission: met (0.26)

### By the number of nodes

| µs with nodes | 1000 | 100000 |
|---|---:|---:|
| Coverage/anywhere | 0.85 | 1.23 |
| Fill | 1000.00 | – |

### Creating a Pod, seen by the client of the API server

| Pod with | p50 without runtimegate | p50 with it | added | p99 without | p99 with it |
|---|---:|---:|---:|---:|---:|
| a class | 2.00 ms | 2.50 ms | 0.50 ms | 4.00 ms | 5.00 ms |

3 dry-run creates of each, one by one.
`
	var got strings.Builder
	if err := report.Write(&got); err != nil || got.String() != want {
		t.Errorf("%v\n%s\nwant:\n%s", err, got.String(), want)
	}
}

func TestReadScale(t *testing.T) {
	got, err := ReadScale(strings.NewReader(`goos: linux
# 1000 nodes: 5 groups
BenchmarkCoverage/not_hostname/has/nodes=1000-2         	  300	       850.5 ns/op	     700 cpu-ns/op	       0 B/op	       0 allocs/op
BenchmarkVerdict/allow/5000_nodes/verdict-2             	  300	      4000 ns/op
BenchmarkVerdict/floor-2                                	  300	      4000 ns/op
PASS
`))
	want := Scale{"Coverage/not_hostname/has": {1000: 850.5}, "Verdict/allow/verdict": {5000: 4000}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
