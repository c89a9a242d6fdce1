// Package certs makes the webhook's serving certificate, and tells the API
// server which authority to trust for it.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime of a self-signed certificate. Its key lives in the memory of one
// process and ends with it, so it need only outlive the process.
const lifetime = 10 * 365 * 24 * time.Hour

// A SelfSigned is a serving certificate and the authority made to sign it,
// whose key is gone.
type SelfSigned struct {
	Certificate tls.Certificate
	// CA is the certificate of the authority, PEM.
	CA []byte
}

// NewSelfSigned makes a certificate for the given host names and IP addresses,
// valid from now on.
func NewSelfSigned(hosts []string, now time.Time) (*SelfSigned, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key of authority: %w", err)
	}
	ca := template("runtimegate-ca", now)
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("make authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key of certificate: %w", err)
	}
	leaf := template("runtimegate", now)
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	return &SelfSigned{
		Certificate: tls.Certificate{Certificate: [][]byte{leafDER, caDER}, PrivateKey: key},
		CA:          pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
	}, nil
}

func template(name string, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		// The clocks of API servers differ.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(lifetime),
	}
}
