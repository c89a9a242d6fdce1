package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

const (
	certLifetime = 18 * time.Second
	certSettle   = 1500 * time.Millisecond
	gateSystem   = "runtimegate-system"
	gateHost     = "runtimegate." + gateSystem + ".svc"
)

// servesAs is what a replica may do: what docs/decisions.md lists for --cert-secret.
const servesAs = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: runtimegate-system}}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: runtimegate, namespace: runtimegate-system}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: runtimegate, namespace: runtimegate-system}
  rules:
  - {apiGroups: [""], resources: [secrets], verbs: [get, update, watch], resourceNames: [runtimegate-cert]}
  - {apiGroups: [""], resources: [secrets], verbs: [create]}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: runtimegate, namespace: runtimegate-system}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runtimegate}
  subjects: [{kind: ServiceAccount, name: runtimegate, namespace: runtimegate-system}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {name: runtimegate}
  rules:
  - {apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: [get, update, watch], resourceNames: [runtimegate]}
  - {apiGroups: [""], resources: [nodes, namespaces], verbs: [get, list, watch]}
  - {apiGroups: [node.k8s.io], resources: [runtimeclasses], verbs: [get, list, watch]}
  - {apiGroups: [runtimegate.io], resources: [noderuntimes, runtimepolicies], verbs: [get, list, watch]}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {name: runtimegate}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: runtimegate}
  subjects: [{kind: ServiceAccount, name: runtimegate, namespace: runtimegate-system}]
`

// TestCertificatesAndReplicasChangeUnnoticed has the webhook fail closed, and
// looks whether anything fails: while certificates are replaced every 12 seconds,
// while the Secret is deleted, and while all replicas are replaced.
func TestCertificatesAndReplicasChangeUnnoticed(t *testing.T) {
	c := startCluster(t)
	must(t, c.AddNodes(interrupted, harness.Node{Name: "gpu-a", Handlers: []string{"", "runc"}}))
	must(t, c.InstallCRDs(interrupted, root))
	_, err := c.Must(interrupted, `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: runc}, handler: runc}`, "kubectl", "create", "-f", "-")
	must(t, err)
	front := newBalancer(t)
	installFailing(t, c, front.address)
	kubeconfig := asServiceAccount(t, c)
	client := newCaller(t, c).client

	replicas := []*harness.Gate{launchReplica(t, c, kubeconfig, 0), launchReplica(t, c, kubeconfig, 1)}
	front.set(replicas...)
	must(t, replicas[0].WaitFor(interrupted, "the API server to ask runtimegate", time.Minute, func(ctx context.Context) error {
		if err := admit(ctx, client, "runc", false); err != nil {
			return err
		}
		return admit(ctx, client, "runc", true)
	}))
	trust := startTrust(t, client, replicas...)

	load := startLoad(t, client, "runc")
	trust.waitForCertificates(t, 1)
	must(t, client.CoreV1().Secrets(gateSystem).Delete(interrupted, "runtimegate-cert", metav1.DeleteOptions{}))
	trust.waitForCertificates(t, 4)
	load.expectNone(t, "certificates replaced")

	load = startLoad(t, client, "runc")
	var old []*harness.Gate
	for i := range replicas {
		old = append(old, replicas[i])
		replicas[i] = launchReplica(t, c, kubeconfig, len(replicas)+i)
		must(t, replicas[i].WaitReady(interrupted))
		front.set(append(old[i:i+1:i+1], replicas...)...)
		trust.set(replicas...)
		must(t, old[i].Signal(syscall.SIGTERM))
		// Endpoints of a Pod that is going are taken away at once; here the balancer
		// has to find out.
		must(t, old[i].WaitFor(interrupted, "the old replica to be no longer ready", time.Minute, func(ctx context.Context) error {
			return expectProbe(ctx, old[i], "/readyz", http.StatusInternalServerError)
		}))
		front.set(replicas...)
	}
	ended := drained(old, 5*time.Second)
	load.expectNone(t, "replicas replaced")
	fmt.Printf("e2e: %d of %d old replicas ended within 5 s; the others wait for API servers to close idle connections, 90 s\n", ended, len(old))
	trust.expect(t)
	fmt.Printf("e2e: %d connections went through the balancer\n", front.connections.Load())
}

// drained is how many have ended within a time.
func drained(gates []*harness.Gate, within time.Duration) int {
	over := time.After(within)
	n := 0
	for _, g := range gates {
		select {
		case <-g.Exited:
			n++
		case <-over:
			return n
		}
	}
	return n
}

// installFailing has the API server ask, and fail what it cannot ask about:
// through a Service, over HTTP/1.1, about all but classes, and through a URL, over
// HTTP/2, about these.
func installFailing(t *testing.T, c *harness.Cluster, address string) {
	t.Helper()
	_, err := c.Must(interrupted, servesAs, "kubectl", "create", "-f", "-")
	must(t, err)
	// No kube-proxy runs here: the API server resolves this one itself.
	_, err = c.Must(interrupted, `{apiVersion: v1, kind: Service, metadata: {name: runtimegate, namespace: `+gateSystem+`}, spec: {type: ExternalName, externalName: 127.0.0.1}}`,
		"kubectl", "create", "-f", "-")
	must(t, err)
	configuration, err := harness.WebhookFor(address, c.Scope)
	must(t, err)
	_, portText, err := net.SplitHostPort(address)
	must(t, err)
	port, err := strconv.Atoi(portText)
	must(t, err)
	fail := admissionregistrationv1.Fail
	for i := range configuration.Webhooks {
		hook := &configuration.Webhooks[i]
		hook.FailurePolicy = &fail
		*hook.TimeoutSeconds = 10 // this is not about a machine that has its hands full
		if hook.Name == "runtimeclasses.runtimegate.io" {
			continue
		}
		called, err := url.Parse(*hook.ClientConfig.URL)
		must(t, err)
		port := int32(port)
		hook.ClientConfig = admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
			Namespace: gateSystem, Name: "runtimegate", Path: &called.Path, Port: &port,
		}}
	}
	manifest, err := yaml.Marshal(configuration)
	must(t, err)
	_, err = c.Must(interrupted, string(manifest), "kubectl", "create", "-f", "-")
	must(t, err)
}

// asServiceAccount makes a kubeconfig with the rights of servesAs.
func asServiceAccount(t *testing.T, c *harness.Cluster) string {
	t.Helper()
	token, err := c.Must(interrupted, "", "kubectl", "create", "token", "runtimegate", "--namespace="+gateSystem)
	must(t, err)
	admin, err := os.ReadFile(c.Kubeconfig())
	must(t, err)
	path := filepath.Join(c.Dir, "serve.kubeconfig")
	must(t, os.WriteFile(path, admin, 0o600))
	_, err = c.Must(interrupted, "", "kubectl", "config", "--kubeconfig="+path, "set-credentials", configured(t, c, "{.users[0].name}"), "--token="+strings.TrimSpace(token))
	must(t, err)
	return path
}

func launchReplica(t *testing.T, c *harness.Cluster, kubeconfig string, n int) *harness.Gate {
	t.Helper()
	g, err := c.LaunchReplica(fmt.Sprintf("replica%d", n), kubeconfig,
		"--cert-secret="+gateSystem+"/runtimegate-cert", "--cert-host="+gateHost+",127.0.0.1", "--inject-ca=runtimegate",
		"--cert-lifetime="+certLifetime.String(), "--cert-settle="+certSettle.String(), "--shutdown-delay=1s", "--shutdown-drain=100s")
	must(t, err)
	return g
}

// A trust plays an API server that learns of a changed configuration as late as it
// may, and one that learns of it at once: both connect to every replica all the
// time.
type trust struct {
	stop         context.CancelFunc
	group        sync.WaitGroup
	mu           sync.Mutex
	replicas     []*harness.Gate
	known        []knownBundle // the oldest is the one that may still be in use
	handshakes   int
	refused      []string
	certificates map[string]bool // that were served
}

type knownBundle struct {
	since time.Time
	pem   string
	roots *x509.CertPool
}

func startTrust(t *testing.T, client kubernetes.Interface, replicas ...*harness.Gate) *trust {
	t.Helper()
	ctx, stop := context.WithCancel(interrupted)
	s := &trust{stop: stop, replicas: slices.Clone(replicas), certificates: map[string]bool{}}
	s.group.Go(func() {
		for ctx.Err() == nil {
			if err := s.look(ctx, client); err != nil && ctx.Err() == nil {
				s.mu.Lock()
				s.refused = append(s.refused, err.Error())
				s.mu.Unlock()
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { stop(); s.group.Wait() })
	return s
}

func (s *trust) set(replicas ...*harness.Gate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = slices.Clone(replicas)
}

// look reads the bundle, and connects with the oldest and the newest.
func (s *trust) look(ctx context.Context, client kubernetes.Interface) error {
	configuration, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "runtimegate", metav1.GetOptions{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i := range configuration.Webhooks {
		bundle := string(configuration.Webhooks[i].ClientConfig.CABundle)
		if n := len(s.known); n > 0 && s.known[n-1].pem == bundle {
			continue
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(bundle))
		s.known = append(s.known, knownBundle{now, bundle, roots})
	}
	// A bundle is out of use once the one after it is known to all. This looks ten
	// times a second, so that it learns late of changes itself.
	for len(s.known) > 1 && now.Sub(s.known[1].since) > certSettle-300*time.Millisecond {
		s.known = s.known[1:]
	}
	for _, g := range s.replicas {
		for _, i := range []int{0, len(s.known) - 1} {
			s.handshakes++
			if err := s.connect(g, s.known[i]); err != nil {
				s.refused = append(s.refused, fmt.Sprintf("%s: %s: bundle %d of %d: %v", now.Format("15:04:05.000"), g.Name, i+1, len(s.known), err))
			}
		}
	}
	return nil
}

func (s *trust) connect(g *harness.Gate, bundle knownBundle) error {
	connection, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp4", g.Webhook, &tls.Config{RootCAs: bundle.roots, ServerName: gateHost})
	if err != nil {
		return err
	}
	s.certificates[connection.ConnectionState().PeerCertificates[0].SerialNumber.String()] = true
	return connection.Close()
}

// waitForCertificates waits until so many certificates have been served.
func (s *trust) waitForCertificates(t *testing.T, n int) {
	t.Helper()
	must(t, harness.Poll(interrupted, fmt.Sprintf("certificate %d", n), time.Duration(n)*certLifetime, func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.certificates) < n {
			return fmt.Errorf("%d were served; refused: %q", len(s.certificates), s.refused)
		}
		return nil
	}))
}

// expect ends it all, and fails the test if a connection was refused.
func (s *trust) expect(t *testing.T) {
	t.Helper()
	s.stop()
	s.group.Wait()
	fmt.Printf("e2e: %d certificates served, %d handshakes with the oldest and the newest bundle an API server may have, %d refused\n",
		len(s.certificates), s.handshakes, len(s.refused))
	if len(s.refused) > 0 {
		t.Errorf("%d handshakes failed:\n%s", len(s.refused), strings.Join(s.refused[:min(10, len(s.refused))], "\n"))
	}
}
