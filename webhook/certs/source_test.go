package certs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A mounted Secret is updated as the kubelet does it (AtomicWriter of
// k8s.io/kubernetes/pkg/volume/util): the files are links to ..data/, and ..data
// is a link that is renamed over.
func TestAMountedSecretIsReadAnew(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, "1", "first.example")
	for _, file := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", file), filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	source, watcher, err := WatchFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := servedHost(t, source); got != "first.example" {
		t.Fatalf("serves %q", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	// Only the watch may tell: the watcher also reads the files every 10 seconds.
	go func() { ended <- watcher.WithWatchInterval(time.Hour).Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	// The watcher does not say when it has begun to watch, and what happens before
	// that it misses: so swap until it has seen two, the one after the other.
	seen := ""
	deadline := time.Now().Add(time.Minute)
	for n, swaps := 2, 0; swaps < 2; n++ {
		host := fmt.Sprintf("host-%d.example", n)
		mount(t, dir, fmt.Sprint(n), host)
		for range 20 {
			if seen = servedHost(t, source); seen == host {
				swaps++
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %d changes it serves %q", n, seen)
		}
	}
}

// mount puts a new certificate behind the links.
func mount(t *testing.T, dir, version, host string) {
	t.Helper()
	pair, err := NewPair([]string{host}, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Readlink(filepath.Join(dir, "..data"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	err = errors.Join(
		os.Mkdir(filepath.Join(dir, ".."+version), 0o700),
		os.WriteFile(filepath.Join(dir, ".."+version, "tls.crt"), pair.CertPEM, 0o600),
		os.WriteFile(filepath.Join(dir, ".."+version, "tls.key"), pair.KeyPEM, 0o600),
		os.Symlink(".."+version, filepath.Join(dir, "..data_tmp")),
		os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")),
	)
	if before != "" {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, before)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func servedHost(t *testing.T, source Source) string {
	t.Helper()
	cert, err := source(nil)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(cert.Leaf.DNSNames, " ")
}

func TestReadiness(t *testing.T) {
	now := time.Now()
	good, err := NewPair([]string{"gate"}, time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	expired, err := NewPair([]string{"gate"}, time.Hour, now.Add(-2*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		source Source
		want   string
	}{
		"good":    {Fixed(good), ""},
		"expired": {Fixed(expired), "the serving certificate has expired at"},
		"none":    {NewKeeper(KeeperOptions{}).GetCertificate, "there is no serving certificate yet"},
	} {
		err := c.source.Ready(nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestExpirationIsMeasuredOnceThereIsACertificate(t *testing.T) {
	pair, err := NewPair([]string{"gate"}, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		source Source
		want   []float64
	}{
		"none": {NewKeeper(KeeperOptions{}).GetCertificate, nil},
		"one":  {Fixed(pair), []float64{float64(pair.NotAfter.Unix())}},
	} {
		registry := prometheus.NewRegistry()
		registry.MustRegister(c.source)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		for _, family := range families {
			for _, metric := range family.Metric {
				got = append(got, metric.Gauge.GetValue())
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
