package certs

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"
)

// A client that trusts the CA takes the certificate for every host it names,
// and for no other.
func TestNewSelfSigned(t *testing.T) {
	made, err := NewSelfSigned([]string{"127.0.0.1", "gate.example"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(made.CA) {
		t.Fatal("the CA is no PEM")
	}
	for host, want := range map[string]bool{"127.0.0.1": true, "gate.example": true, "127.0.0.2": false, "other.example": false} {
		client, server := net.Pipe()
		serverSide := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{made.Certificate}})
		go func() { _ = serverSide.Handshake(); _ = server.Close() }()
		err := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: host}).Handshake()
		if (err == nil) != want {
			t.Errorf("%s: trusted %t, want %t: %v", host, err == nil, want, err)
		}
		_ = client.Close()
	}
}
