package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

const (
	// authorityName marks the authorities that are made here.
	authorityName = "runtimegate-ca"
	// backdate lets a certificate be valid before it was made: the clocks of API
	// servers and replicas differ, by hours where one takes local time for UTC.
	backdate = 24 * time.Hour
	// pemCertificate is the type of a PEM block, as all the world names it.
	pemCertificate = "CERTIFICATE"
)

// An Authority is what a client is to trust.
type Authority struct {
	ID       string // of its content
	NotAfter time.Time
	Ours     bool // made here: it has signed one certificate, and its key is gone
	PEM      []byte
}

// A Pair is a serving certificate with the authority that was made to sign it,
// both valid equally long. So replacing the one replaces the other, and there is
// no key that could sign anything else.
type Pair struct {
	Authority           Authority
	NotBefore, NotAfter time.Time
	Hosts               []string // host names and IP addresses
	CertPEM, KeyPEM     []byte   // the certificate followed by the authority, and its key
	TLS                 *tls.Certificate
}

// NewPair makes a certificate for the given host names and IP addresses, valid
// from now on.
func NewPair(hosts []string, lifetime time.Duration, now time.Time) (*Pair, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key of authority: %w", err)
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: authorityName},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	authority, err := sign(template, template, authorityKey, authorityKey)
	if err != nil {
		return nil, fmt.Errorf("make authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key of certificate: %w", err)
	}
	template = &x509.Certificate{
		Subject:   pkix.Name{CommonName: "runtimegate"},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	leaf, err := sign(template, authority, key, authorityKey)
	if err != nil {
		return nil, fmt.Errorf("make certificate for %q: %w", hosts, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key of certificate: %w", err)
	}
	return parsePair(
		slices.Concat(encode(leaf), encode(authority)),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// parsePair reads what NewPair made.
func parsePair(certPEM, keyPEM []byte) (*Pair, error) {
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	if len(cert.Certificate) != 2 {
		return nil, fmt.Errorf("want a certificate and its authority, got %d certificates", len(cert.Certificate))
	}
	authority, err := x509.ParseCertificate(cert.Certificate[1])
	if err != nil {
		return nil, err
	}
	if err := cert.Leaf.CheckSignatureFrom(authority); err != nil {
		return nil, err
	}
	if !slices.Contains(cert.Leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) {
		return nil, errors.New("the certificate is not for servers")
	}
	p := &Pair{
		Authority: authorityOf(authority),
		NotBefore: cert.Leaf.NotBefore,
		NotAfter:  cert.Leaf.NotAfter,
		Hosts:     slices.Clone(cert.Leaf.DNSNames),
		CertPEM:   certPEM,
		KeyPEM:    keyPEM,
		TLS:       &cert,
	}
	if authority.NotAfter.Before(p.NotAfter) {
		p.NotAfter = authority.NotAfter
	}
	for _, ip := range cert.Leaf.IPAddresses {
		p.Hosts = append(p.Hosts, ip.String())
	}
	return p, nil
}

func authorityOf(c *x509.Certificate) Authority {
	sum := sha256.Sum256(c.Raw)
	return Authority{
		ID:       hex.EncodeToString(sum[:]),
		NotAfter: c.NotAfter,
		Ours:     c.Subject.CommonName == authorityName,
		PEM:      encode(c),
	}
}

// parseAuthorities reads a bundle. What is none it passes over, as clients do.
func parseAuthorities(bundle []byte) []Authority {
	var all []Authority
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			return all
		}
		if block.Type != pemCertificate {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, authorityOf(c))
		}
	}
}

func encode(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: c.Raw})
}
