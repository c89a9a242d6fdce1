package certs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// The keys of the Secret. ca.crt is for people and curl; nothing here reads it.
const (
	currentCert, currentKey = corev1.TLSCertKey, corev1.TLSPrivateKeyKey
	nextCert, nextKey       = "next.crt", "next.key"
	currentCA               = corev1.ServiceAccountRootCAKey
)

// readContents reads what writeContents wrote. What makes no sense is left out.
func readContents(secret *corev1.Secret) (contents, error) {
	// Such a Secret is of cert-manager or "kubectl create secret tls".
	if secret.Type == corev1.SecretTypeTLS {
		return contents{}, fmt.Errorf("not overwritten: Secret %q is of type %s, made by others; mount it and name its folder with --cert-dir, or name another Secret", secret.Namespace+"/"+secret.Name, secret.Type)
	}
	var c contents
	for _, piece := range []struct {
		cert, key string
		to        **Pair
	}{{currentCert, currentKey, &c.current}, {nextCert, nextKey, &c.next}} {
		if len(secret.Data[piece.cert])+len(secret.Data[piece.key]) == 0 {
			continue
		}
		pair, err := parsePair(secret.Data[piece.cert], secret.Data[piece.key])
		if err != nil {
			c.damaged = true
			continue
		}
		*piece.to = pair
	}
	return c, nil
}

// writeContents leaves keys that are not its own as they are.
func writeContents(secret *corev1.Secret, c contents) {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for _, key := range []string{currentCert, currentKey, currentCA, nextCert, nextKey} {
		delete(secret.Data, key)
	}
	if c.current != nil {
		secret.Data[currentCert], secret.Data[currentKey] = c.current.CertPEM, c.current.KeyPEM
		secret.Data[currentCA] = c.current.Authority.PEM
	}
	if c.next != nil {
		secret.Data[nextCert], secret.Data[nextKey] = c.next.CertPEM, c.next.KeyPEM
	}
}
