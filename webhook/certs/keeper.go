package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// requestTimeout bounds a look: what it found must not be acted on much later.
	requestTimeout = 10 * time.Second
	// retryAfter is when to look again after an error.
	retryAfter = 5 * time.Second
	// lookPause is the least time between two looks, should somebody else undo
	// every write.
	lookPause = 200 * time.Millisecond
)

// A Keeper keeps a serving certificate in a Secret that all replicas share, and
// its authority in a ValidatingWebhookConfiguration, and replaces both in time.
// Every replica has one; they need no leader.
type Keeper struct {
	options KeeperOptions
	serving atomic.Pointer[Pair]
	trouble atomic.Pointer[string] // why there is no certificate
	since   standing
}

// KeeperOptions are what a Keeper is told.
type KeeperOptions struct {
	// Client reaches the API server without a cache.
	Client        client.WithWatch
	Secret        types.NamespacedName
	Configuration string   // name of the ValidatingWebhookConfiguration
	Hosts         []string // host names and IP addresses
	Lifetime      time.Duration
	// Settle is in what time all API servers learn of a changed configuration.
	Settle time.Duration
	Log    logr.Logger
}

// NewKeeper returns a Keeper that is not started yet.
func NewKeeper(options KeeperOptions) *Keeper { return &Keeper{options: options} }

// GetCertificate is the Keeper's Source.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if pair := k.serving.Load(); pair != nil {
		return pair.TLS, nil
	}
	if trouble := k.trouble.Load(); trouble != nil {
		return nil, errors.New("there is no serving certificate yet: " + *trouble)
	}
	return nil, errors.New("there is no serving certificate yet")
}

// Start keeps the certificate until ctx is done.
func (k *Keeper) Start(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	go watch(ctx, changed, func() (events, error) {
		return k.options.Client.Watch(ctx, &corev1.SecretList{},
			client.InNamespace(k.options.Secret.Namespace), client.MatchingFields{metav1.ObjectNameField: k.options.Secret.Name})
	})
	go watch(ctx, changed, func() (events, error) {
		return k.options.Client.Watch(ctx, &admissionregistrationv1.ValidatingWebhookConfigurationList{},
			client.MatchingFields{metav1.ObjectNameField: k.options.Configuration})
	})
	for {
		again, err := k.look(ctx)
		if ctx.Err() == nil {
			k.tell(err)
		}
		if !pause(ctx, lookPause, nil) || !pause(ctx, again-lookPause, changed) {
			return nil
		}
	}
}

// tell notes how a look went, for those who ask for a certificate, and logs an error
// once. The text of one is never changed afterwards: they read it without a lock.
func (k *Keeper) tell(err error) {
	if err == nil {
		k.trouble.Store(nil)
		return
	}
	text := err.Error()
	if before := k.trouble.Load(); before != nil && *before == text {
		return
	}
	k.trouble.Store(&text)
	k.options.Log.Error(err, "Certificate not kept up to date", "retryAfter", retryAfter.String())
}

// pause waits until the time is over or something has changed; false: ctx is done.
func pause(ctx context.Context, wait time.Duration, changed <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-time.After(wait):
	}
	return true
}

// look takes the next step, and says when to look again.
func (k *Keeper) look(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret, configuration, left, err := k.read(ctx)
	if err != nil {
		return retryAfter, err
	}
	held, err := readContents(secret)
	if err != nil {
		return retryAfter, err
	}
	v := view{now: time.Now(), secret: held, mine: k.serving.Load()}
	v.standing = k.since.of(configuration)
	if configuration != nil {
		for _, bundle := range bundlesOf(configuration) {
			v.hooks = append(v.hooks, parseAuthorities(*bundle))
		}
	}
	step := plan(v, lives{hosts: k.options.Hosts, lifetime: k.options.Lifetime, settle: k.options.Settle})
	k.serve(step.serve)
	switch {
	case step.secret != nil:
		err = k.writeSecret(ctx, secret, step)
	case step.bundle != nil:
		err = k.writeBundle(ctx, configuration, step)
	case left != nil:
		return retryAfter, left
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		err = nil // another replica took the step
	}
	if err != nil {
		return retryAfter, err
	}
	return step.again, nil
}

// read reads the Secret, empty if there is none, and the configuration, or why
// that is left alone. The Secret was the same before and after: an authority that
// the configuration has and the Secret lacks was given up, and is not one to come.
func (k *Keeper) read(ctx context.Context) (*corev1.Secret, *admissionregistrationv1.ValidatingWebhookConfiguration, *leftAlone, error) {
	before, err := k.readSecret(ctx)
	for err == nil {
		var left *leftAlone
		configuration, trouble := getConfiguration(ctx, k.options.Client, k.options.Configuration)
		if trouble != nil && !errors.As(trouble, &left) {
			return nil, nil, nil, trouble
		}
		var after *corev1.Secret
		if after, err = k.readSecret(ctx); err == nil && after.ResourceVersion == before.ResourceVersion {
			return after, configuration, left, nil
		}
		before = after
	}
	return nil, nil, nil, err
}

func (k *Keeper) readSecret(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := k.options.Client.Get(ctx, k.options.Secret, secret)
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.options.Secret.Namespace, Name: k.options.Secret.Name}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %q: %w", k.options.Secret, err)
	}
	return secret, nil
}

// serve hands a certificate to the next client that connects.
func (k *Keeper) serve(pair *Pair) {
	if before := k.serving.Swap(pair); pair != nil && !same(before, pair) {
		k.options.Log.Info("Serving certificate changed", "hosts", pair.Hosts, "notAfter", pair.NotAfter.Format(time.RFC3339), "authority", pair.Authority.ID)
	}
}

func (k *Keeper) writeSecret(ctx context.Context, secret *corev1.Secret, s step) error {
	holds := *s.secret
	if s.fresh != nil {
		var err error
		if holds.next, err = NewPair(s.fresh, k.options.Lifetime, time.Now()); err != nil {
			return err
		}
	}
	writeContents(secret, holds)
	write := func() error { return k.options.Client.Update(ctx, secret) }
	if secret.ResourceVersion == "" {
		write = func() error { return k.options.Client.Create(ctx, secret) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("write Secret %q: %w", k.options.Secret, err)
	}
	k.options.Log.Info("Secret written", "secret", k.options.Secret.String(), "because", s.why)
	return nil
}

func (k *Keeper) writeBundle(ctx context.Context, configuration *admissionregistrationv1.ValidatingWebhookConfiguration, s step) error {
	var bundle []byte
	for _, a := range s.bundle {
		bundle = append(bundle, a.PEM...)
	}
	changed, err := putBundle(ctx, k.options.Client, configuration, bundle)
	if changed {
		k.options.Log.Info("CA bundle written", "configuration", k.options.Configuration, "authorities", len(s.bundle), "because", s.why)
	}
	return err
}

// standing knows since when a configuration is as it is, by the process's own
// clock, which does not jump.
type standing struct {
	uid        types.UID
	generation int64
	seen       time.Time
}

func (s *standing) of(c *admissionregistrationv1.ValidatingWebhookConfiguration) time.Duration {
	is := standing{}
	if c != nil {
		is.uid, is.generation = c.UID, c.Generation
	}
	if s.seen.IsZero() || is.uid != s.uid || is.generation != s.generation {
		is.seen = time.Now()
		*s = is
	}
	return time.Since(s.seen)
}
