package certs

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A client that trusts the authority, be it among others of the same name, takes
// the certificate for every host it names, and for no other.
func TestNewPair(t *testing.T) {
	made, other := newPair(t, "127.0.0.1", "gate.example"), newPair(t, "127.0.0.1")
	for name, c := range map[string]struct {
		bundle []byte
		host   string
		want   bool
	}{
		"an address":                {made.Authority.PEM, "127.0.0.1", true},
		"a name":                    {made.Authority.PEM, "gate.example", true},
		"another address":           {made.Authority.PEM, "127.0.0.2", false},
		"another name":              {made.Authority.PEM, "other.example", false},
		"two authorities":           {slices.Concat(other.Authority.PEM, made.Authority.PEM), "gate.example", true},
		"the authority of another":  {other.Authority.PEM, "127.0.0.1", false},
		"a bundle written and read": {slices.Concat(made.Authority.PEM, []byte("\nsome words\n"), parseAuthorities(other.Authority.PEM)[0].PEM), "gate.example", true},
	} {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(c.bundle) {
			t.Fatal("the bundle is no PEM")
		}
		client, server := net.Pipe()
		serverSide := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{*made.TLS}})
		go func() { _ = serverSide.Handshake(); _ = server.Close() }()
		err := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: c.host}).Handshake()
		if (err == nil) != c.want {
			t.Errorf("%s: trusted %t, want %t: %v", name, err == nil, c.want, err)
		}
		_ = client.Close()
	}
}

func newPair(t *testing.T, hosts ...string) *Pair {
	t.Helper()
	pair, err := NewPair(hosts, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestSecret(t *testing.T) {
	one, two := newPair(t, "::1", "gate"), newPair(t, "gate")
	written := func(c contents, change ...func(map[string][]byte)) *corev1.Secret {
		secret := &corev1.Secret{Data: map[string][]byte{"mine": []byte("kept"), nextCert: []byte("old")}}
		writeContents(secret, c)
		for _, f := range change {
			f(secret.Data)
		}
		return secret
	}
	set := func(key string, value []byte) func(map[string][]byte) {
		return func(data map[string][]byte) { data[key] = value }
	}
	for name, c := range map[string]struct {
		secret *corev1.Secret
		want   contents
	}{
		"none":                            {&corev1.Secret{}, contents{}},
		"empty":                           {written(contents{}), contents{}},
		"current":                         {written(contents{current: one}), contents{current: one}},
		"current and next":                {written(contents{current: one, next: two}), contents{current: one, next: two}},
		"next only":                       {written(contents{next: two}), contents{next: two}},
		"nonsense":                        {written(contents{current: one, next: two}, set(currentCert, []byte("x"))), contents{next: two, damaged: true}},
		"no key":                          {written(contents{current: one}, set(currentKey, nil)), contents{damaged: true}},
		"another's key":                   {written(contents{current: one}, set(currentKey, two.KeyPEM)), contents{damaged: true}},
		"without its authority":           {written(contents{current: one}, set(currentCert, one.CertPEM[:len(one.CertPEM)-len(one.Authority.PEM)])), contents{damaged: true}},
		"with another's authority":        {written(contents{current: one}, set(currentCert, slices.Concat(one.CertPEM[:len(one.CertPEM)-len(one.Authority.PEM)], two.Authority.PEM))), contents{damaged: true}},
		"ca.crt decides nothing":          {written(contents{current: one}, set(currentCA, nil)), contents{current: one}},
		"half of next, half of a rewrite": {written(contents{current: one, next: two}, set(nextKey, nil)), contents{current: one, damaged: true}},
	} {
		got, err := readContents(c.secret)
		if err != nil || !same(got.current, c.want.current) || !same(got.next, c.want.next) || got.damaged != c.want.damaged {
			t.Errorf("%s: got %+v %v, want %+v", name, got, err, c.want)
		}
		if c.secret.Data != nil && string(c.secret.Data["mine"]) != "kept" {
			t.Errorf("%s: what others put into the Secret is gone", name)
		}
	}
	if got, err := readContents(written(contents{current: one})); err != nil || !slices.Equal(got.current.Hosts, []string{"gate", "::1"}) {
		t.Errorf("hosts %v, %v", got.current.Hosts, err)
	}
	if _, err := readContents(&corev1.Secret{Type: corev1.SecretTypeTLS}); err == nil {
		t.Error("a Secret that others made would be overwritten")
	}
}
