package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A pki is a certificate authority whose files lie in one folder.
type pki struct {
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// newPKI makes everything the API server needs: the authority ca, its serving
// certificate apiserver, and the key pair sa that signs service account tokens.
func newPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &pki{dir: dir}
	if err := p.makeAuthority(); err != nil {
		return nil, fmt.Errorf("make certificate authority: %w", err)
	}
	if err := p.makeServing("apiserver"); err != nil {
		return nil, fmt.Errorf("make serving certificate: %w", err)
	}
	if err := p.makeSigner("sa"); err != nil {
		return nil, fmt.Errorf("make service account key: %w", err)
	}
	return p, nil
}

// path names the file of one of the pki's parts, such as "ca.crt".
func (p *pki) path(name string) string { return filepath.Join(p.dir, name) }

func (p *pki) makeAuthority() (err error) {
	if p.key, err = p.makeKey("ca"); err != nil {
		return err
	}
	template := certificate("kubernetes-ca")
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage |= x509.KeyUsageCertSign
	p.cert, err = p.sign("ca", template, template, p.key)
	return err
}

func (p *pki) makeServing(name string) error {
	key, err := p.makeKey(name)
	if err != nil {
		return err
	}
	template := certificate("kube-apiserver")
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	_, err = p.sign(name, template, p.cert, key)
	return err
}

func (p *pki) makeSigner(name string) error {
	key, err := p.makeKey(name)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return p.write(name+".pub", "PUBLIC KEY", der)
}

func (p *pki) makeKey(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, p.write(name+".key", "EC PRIVATE KEY", der)
}

// sign makes name's certificate for key, signed by the authority.
func (p *pki) sign(name string, template, parent *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), p.key)
	if err != nil {
		return nil, err
	}
	if err := p.write(name+".crt", "CERTIFICATE", der); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func (p *pki) write(name, kind string, der []byte) error {
	return os.WriteFile(p.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// certificate is what all certificates here have in common: they are valid for
// longer than any test runs.
func certificate(commonName string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}
