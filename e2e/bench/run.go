package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/runtimegate/runtimegate/e2e/build"
)

// comparisons are all that is compared, and the ratios to keep below.
var comparisons = []struct {
	name, size string
	http2      bool
	targets    map[string]float64
}{
	{"HTTP/1.1, Pod of 4 KiB", "4KiB", false, map[string]float64{Floor: 2.5, PodSecurity: .25, Gatekeeper: .15}},
	{"HTTP/2, Pod of 4 KiB", "4KiB", true, map[string]float64{Floor: 1.4, PodSecurity: .33}},
	{"HTTP/1.1, Pod of 32 KiB", "32KiB", false, map[string]float64{Floor: 1.7, PodSecurity: .15}},
	{"HTTP/2, Pod of 32 KiB", "32KiB", true, nil},
}

// creates is how many Pods of each kind the API server is to create with and
// without runtimegate.
const creates = 300

// Run measures everything with the programs of bin, in a cluster of its own in dir.
// What it is at it tells progress. Given a file for it, it also takes a profile of
// runtimegate in the first comparison.
func Run(ctx context.Context, bin, dir string, o Options, profile string, progress io.Writer) (*Report, error) {
	root, err := build.Root()
	if err != nil {
		return nil, err
	}
	f, err := NewCluster(ctx, bin, dir)
	if err != nil {
		return nil, err
	}
	defer f.Stop()
	report := &Report{Machine: Machine(), Options: o, Creates: creates}
	pod, err := Pod(root, Sizes[0])
	if err != nil {
		return nil, err
	}
	admissions, err := f.NewAdmissions(pod)
	if err != nil {
		return nil, err
	}
	bodies := map[string][]byte{}
	for _, size := range Sizes {
		if bodies[size], err = Review(root, size); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(progress, "bench: Pods are created without runtimegate")
	// The first ones warm the API server up.
	if err := admissions.Create(ctx, creates/10, false); err != nil {
		return nil, err
	}
	admissions.forget()
	if err := admissions.Create(ctx, creates/2, false); err != nil {
		return nil, err
	}
	if err := f.StartServers(ctx, bodies[Sizes[0]]); err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "bench: Pods are created with it")
	if err := admissions.Create(ctx, creates, true); err != nil {
		return nil, err
	}
	if err := admissions.RemoveWebhook(ctx); err != nil {
		return nil, err
	}
	if err := admissions.Create(ctx, creates-creates/2, false); err != nil {
		return nil, err
	}
	report.Admissions = admissions.Results()
	for i, c := range comparisons {
		fmt.Fprintf(progress, "bench: %s, %d servers\n", c.name, len(f.Servers))
		of := Case{Name: c.name, HTTP2: c.http2, Body: bodies[c.size]}
		samples, err := Compare(ctx, f.Servers, of, o)
		if err != nil {
			return nil, err
		}
		report.Comparisons = append(report.Comparisons, Comparison{of, f.Servers, samples, c.targets})
		if i == 0 && profile != "" {
			if err := f.takeProfile(ctx, of, profile); err != nil {
				return nil, fmt.Errorf("take a profile: %w", err)
			}
		}
	}
	return report, nil
}

// takeProfile writes a CPU profile of runtimegate, which is kept busy meanwhile.
func (f *Field) takeProfile(ctx context.Context, c Case, path string) error {
	const lasts = 10 * time.Second
	client := newClient(c.HTTP2)
	defer client.CloseIdleConnections()
	loaded := make(chan error, 1)
	go func() {
		_, err := load(ctx, client, f.Servers[len(f.Servers)-1].URL, c.Body, busy, lasts+time.Second)
		loaded <- err
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", f.Pprof, lasts.Seconds()), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if err := <-loaded; err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// Machine names the processor and how much of it there is.
func Machine() string {
	name := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", name, runtime.NumCPU(), runtime.Version())
}
