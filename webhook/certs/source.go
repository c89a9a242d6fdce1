package certs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// A Source gives the certificate to serve, as tls.Config.GetCertificate does.
type Source func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// Fixed is the source of a certificate that never changes.
func Fixed(p *Pair) Source {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.TLS, nil }
}

// WatchFolder reads tls.crt and tls.key of a folder, now and, once the watcher is
// started, whenever they change: at the swap of symbolic links by which a kubelet
// updates a mounted Secret too.
func WatchFolder(dir string) (Source, *certwatcher.CertWatcher, error) {
	watcher, err := certwatcher.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		return nil, nil, fmt.Errorf("read certificate of %s: %w", dir, err)
	}
	return watcher.GetCertificate, watcher, nil
}

// Ready is a readiness check: there is a certificate, and it has not expired.
func (s Source) Ready(*http.Request) error {
	cert, err := s(nil)
	switch {
	case err != nil:
		return err
	case cert == nil || cert.Leaf == nil:
		return errors.New("there is no serving certificate")
	case !cert.Leaf.NotAfter.After(time.Now()):
		return fmt.Errorf("the serving certificate has expired at %s", cert.Leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

var expiration = prometheus.NewDesc("runtimegate_certificate_expiration_timestamp_seconds",
	"When the certificate that the webhook serves expires, in seconds since 1970.", nil, nil)

var _ prometheus.Collector = Source(nil)

// Describe implements prometheus.Collector.
func (s Source) Describe(descs chan<- *prometheus.Desc) { descs <- expiration }

// Collect implements prometheus.Collector. While there is no certificate there is
// no metric either: 0 would look like one that has expired.
func (s Source) Collect(metrics chan<- prometheus.Metric) {
	if cert, err := s(nil); err == nil && cert != nil && cert.Leaf != nil {
		metrics <- prometheus.MustNewConstMetric(expiration, prometheus.GaugeValue, float64(cert.Leaf.NotAfter.Unix()))
	}
}
