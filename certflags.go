package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/webhook/certs"
)

const (
	// defaultCertLifetime is cert-manager's: of 90 days, the last 30 are for
	// whoever has to find out why a certificate is not replaced.
	defaultCertLifetime = 90 * 24 * time.Hour
	// defaultCertSettle is long for a watch event, and for the time in which an
	// API server's watch is opened anew (client-go waits 30 seconds at most).
	defaultCertSettle = time.Minute
	// selfSignedLifetime need only be longer than a process's.
	selfSignedLifetime = 10 * 365 * 24 * time.Hour
)

// certFlags are the flags of serve about its certificate.
type certFlags struct {
	dir        string
	secret     string
	selfSigned bool
	hosts      []string
	injectCA   string
	lifetime   time.Duration
	settle     time.Duration
}

func (f *certFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "cert-dir", "", "folder with the serving certificate, tls.crt and tls.key; read anew when they change")
	flags.StringVar(&f.secret, "cert-secret", "", "NAMESPACE/NAME of the Secret in which all replicas keep a serving certificate that they make and replace themselves; needs --cert-host and --inject-ca")
	flags.BoolVar(&f.selfSigned, "self-signed", false, "make a serving certificate at the start and keep it in memory, for a single replica")
	flags.StringSliceVar(&f.hosts, "cert-host", nil, "host names and IP addresses by which the API server calls, such as SERVICE.NAMESPACE.svc (with --self-signed: localhost and 127.0.0.1 unless given)")
	flags.StringVar(&f.injectCA, "inject-ca", "", "name of the ValidatingWebhookConfiguration that is to trust the certificate")
	flags.DurationVar(&f.lifetime, "cert-lifetime", defaultCertLifetime, "how long a certificate of --cert-secret is valid; it is replaced when two thirds are over")
	flags.DurationVar(&f.settle, "cert-settle", defaultCertSettle, "how long API servers trust the next certificate of --cert-secret before it is served: time for all of them to learn of it")
}

// check checks the flags, and puts hosts into the form that certificates have.
func (f *certFlags) check() error {
	given := 0
	for _, way := range []bool{f.dir != "", f.secret != "", f.selfSigned} {
		if way {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("give one of --cert-dir, --cert-secret and --self-signed")
	case f.dir != "" && f.injectCA != "":
		return errors.New("--inject-ca goes with --cert-secret or --self-signed")
	case f.dir != "" && len(f.hosts) > 0:
		return errors.New("--cert-host goes with --cert-secret or --self-signed")
	case f.secret != "" && f.injectCA == "":
		return errors.New("--cert-secret needs --inject-ca")
	case f.secret != "" && len(f.hosts) == 0:
		return errors.New("--cert-secret needs --cert-host, such as SERVICE.NAMESPACE.svc")
	case f.secret != "" && !validSecret(f.secret):
		return fmt.Errorf("--cert-secret %q: want NAMESPACE/NAME", f.secret)
	case f.settle <= 0 || f.settle > f.lifetime/6:
		return errors.New("--cert-settle must be above 0 and a sixth of --cert-lifetime at most")
	}
	if f.selfSigned && len(f.hosts) == 0 {
		f.hosts = []string{"localhost", "127.0.0.1"}
	}
	for i, host := range f.hosts {
		if ip := net.ParseIP(host); ip != nil {
			f.hosts[i] = ip.String()
		} else if wrong := validation.IsDNS1123Subdomain(host); len(wrong) > 0 {
			return fmt.Errorf("--cert-host %q: %s", host, wrong[0])
		}
	}
	return nil
}

func validSecret(s string) bool {
	namespace, name, _ := strings.Cut(s, "/")
	return len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

// open returns the source of the certificate, and what keeps it up to date.
func (f *certFlags) open(config *rest.Config, scheme *runtime.Scheme, log logr.Logger, out io.Writer) (certs.Source, func(context.Context) error, error) {
	if f.dir != "" {
		source, watcher, err := certs.WatchFolder(f.dir)
		if err != nil {
			return nil, nil, err
		}
		return source, watcher.Start, nil
	}
	reach, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("reach the cluster: %w", err)
	}
	if f.secret != "" {
		namespace, name, _ := strings.Cut(f.secret, "/")
		keeper := certs.NewKeeper(certs.KeeperOptions{
			Client:        reach,
			Secret:        types.NamespacedName{Namespace: namespace, Name: name},
			Configuration: f.injectCA,
			Hosts:         f.hosts,
			Lifetime:      f.lifetime,
			Settle:        f.settle,
			Log:           log.WithName("certificate"),
		})
		return keeper.GetCertificate, keeper.Start, nil
	}
	made, err := certs.NewPair(f.hosts, selfSignedLifetime, time.Now())
	if err != nil {
		return nil, nil, err
	}
	if f.injectCA == "" {
		return certs.Fixed(made), func(context.Context) error {
			_, err := out.Write(made.Authority.PEM)
			return err
		}, nil
	}
	injector := &certs.Injector{Client: reach, Configuration: f.injectCA, CA: made.Authority.PEM, Log: log.WithName("inject-ca")}
	return certs.Fixed(made), injector.Start, nil
}
