// Package serving is what the servers have in common: where they serve, and what
// they tell of themselves.
package serving

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Path is where reviews are posted.
const Path = "/review"

// Flags are those of each server.
type Flags struct {
	// Address is the host:port to serve at, with TLS.
	Address string
	// Certs is the folder of tls.crt and tls.key.
	Certs string
	// Stats is the host:port of Tell.
	Stats string
}

// Parse parses the command line, and tells of the process at the address of
// Stats from then on.
func Parse() Flags {
	var f Flags
	flag.StringVar(&f.Address, "address", "", "host:port to serve at")
	flag.StringVar(&f.Certs, "certs", "", "folder of tls.crt and tls.key")
	flag.StringVar(&f.Stats, "stats", "", "host:port of what the process tells of itself")
	flag.Parse()
	Tell(f.Stats)
	return f
}

// Cert and Key are the files of the certificate.
func (f Flags) Cert() string { return filepath.Join(f.Certs, "tls.crt") }

// Key is the file of the certificate's key.
func (f Flags) Key() string { return filepath.Join(f.Certs, "tls.key") }

// Tell tells how much the process has allocated, under the names that the
// Prometheus client has for that.
func Tell(address string) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		Fail(err)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Fprintf(w, "go_memstats_mallocs_total %d\ngo_memstats_alloc_bytes_total %d\n", m.Mallocs, m.TotalAlloc)
	}))
}

// Webhook serves a controller-runtime webhook until the process is told to end.
func (f Flags) Webhook(hook http.Handler) error {
	host, service, err := net.SplitHostPort(f.Address)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(service)
	if err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{Host: host, Port: port, CertDir: f.Certs})
	server.Register(Path, hook)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return server.Start(ctx)
}

// Fail ends the process with an error.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}
