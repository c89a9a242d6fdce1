package bench

import (
	"context"
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
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
)

// The names of the servers.
const (
	Floor       = "floor"
	Noop        = "controller-runtime no-op"
	PodSecurity = "pod-security-admission"
	Gatekeeper  = "Gatekeeper CEL"
	Runtimegate = "runtimegate"
)

// namespace is that of the Pods.
const namespace = "bench"

// A Field is a cluster, and all servers beside it.
type Field struct {
	Servers []Server
	// Gate is runtimegate's own process.
	Gate *harness.Gate
	// Pprof is the address of its profiles.
	Pprof   string
	cluster *harness.Cluster
	peers   string // the folder of their programs
}

// NewCluster starts a control plane for the servers, with nodes that have loaded
// the handler of the Pods' class. runtimegate is not there yet.
func NewCluster(ctx context.Context, bin, dir string) (*Field, error) {
	root, err := build.Root()
	if err != nil {
		return nil, err
	}
	c, err := harness.StartCluster(ctx, bin, dir)
	if err != nil {
		return nil, err
	}
	f := &Field{cluster: c, peers: filepath.Join(bin, "peers")}
	if err := f.prepare(ctx, root); err != nil {
		f.Stop()
		return nil, err
	}
	return f, nil
}

// Stop ends all processes.
func (f *Field) Stop() { f.cluster.Stop() }

// classes are that of the Pods, and one whose Pods are denied.
const classes = `{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "bench"}, "handler": "runc"},
	{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "denied"}, "handler": "none-has-it"}]}`

func (f *Field) prepare(ctx context.Context, root string) error {
	var nodes []harness.Node
	for i := range 5 {
		nodes = append(nodes, harness.Node{Name: fmt.Sprintf("node-%d", i), Handlers: []string{"", "runc"}})
	}
	if err := f.cluster.AddNodes(ctx, nodes...); err != nil {
		return err
	}
	if err := f.cluster.AddNamespace(ctx, namespace); err != nil {
		return err
	}
	if _, err := f.cluster.Must(ctx, classes, "kubectl", "create", "-f", "-"); err != nil {
		return err
	}
	return f.cluster.Install(ctx, root)
}

// StartServers starts all servers, and waits until each of them answers.
func (f *Field) StartServers(ctx context.Context, body []byte) error {
	if err := f.startGate(ctx); err != nil {
		return err
	}
	certs := filepath.Join(f.cluster.Dir, "peers")
	if err := writeCertificate(certs); err != nil {
		return err
	}
	for _, peer := range []struct{ name, program string }{{Floor, "floor"}, {Noop, "noop"}, {PodSecurity, "psa"}, {Gatekeeper, "gatekeeper"}} {
		if err := f.startPeer(peer.name, peer.program, certs); err != nil {
			return err
		}
	}
	f.Servers = append(f.Servers, Server{Runtimegate, "https://" + f.Gate.Webhook + "/validate-pods", "http://" + f.Gate.Metrics + "/metrics", f.Gate.Pid()})
	for _, s := range f.Servers {
		client := newClient(true)
		defer client.CloseIdleConnections()
		err := harness.Poll(ctx, s.Name+" to answer", time.Minute, func(ctx context.Context) error {
			return post(ctx, client, s.URL, body)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Field) startGate(ctx context.Context) error {
	ports, err := harness.FreePorts(1)
	if err != nil {
		return err
	}
	f.Pprof = ports[0]
	f.Gate, err = f.cluster.StartGate(ctx, "--pprof-bind-address="+f.Pprof)
	return err
}

// podSecurity is a configuration of pod-security-admission.
const podSecurity = `apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: restricted, enforce-version: latest}
`

func (f *Field) startPeer(name, program, certs string) error {
	ports, err := harness.FreePorts(2)
	if err != nil {
		return err
	}
	s := Server{Name: name, URL: "https://" + ports[0] + "/review", Stats: "http://" + ports[1]}
	cmd := exec.Command(filepath.Join(f.peers, program), "--address="+ports[0], "--certs="+certs, "--stats="+ports[1])
	if name == PodSecurity {
		config := filepath.Join(certs, "podsecurity.yaml")
		if err := os.WriteFile(config, []byte(podSecurity), 0o600); err != nil {
			return err
		}
		host, port, _ := strings.Cut(ports[0], ":")
		cmd = exec.Command(cmd.Path, "--kubeconfig="+f.cluster.Kubeconfig(), "--config="+config, "--bind-address="+host, "--secure-port="+port,
			"--tls-cert-file="+filepath.Join(certs, "tls.crt"), "--tls-private-key-file="+filepath.Join(certs, "tls.key"))
		cmd.Env = []string{"STATS=" + ports[1]}
	}
	process, err := f.cluster.Background(program, cmd)
	if err != nil {
		return fmt.Errorf("%w; make peers builds it", err)
	}
	s.Pid = process.Pid()
	f.Servers = append(f.Servers, s)
	return nil
}

// writeCertificate writes a certificate, as runtimegate makes its own: of an
// elliptic curve.
func writeCertificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "peers"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(24 * time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: cert}, "tls.key": {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}
