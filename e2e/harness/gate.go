package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"
)

// gateTimeout bounds each step of the gate's start.
const gateTimeout = time.Minute

// A Gate is a running "runtimegate serve".
type Gate struct {
	*Process
	Webhook string // host:port that the API server calls
	Health  string // host:port of /healthz and /readyz
	Metrics string // host:port of /metrics
	cluster *Cluster
}

// gateNamespace is where the gate's service account is: in a namespace that is
// there anyway, and left out by the webhook.
const gateNamespace = "kube-system"

// Install puts into the cluster what "runtimegate serve" needs there: the CRDs,
// and the rights of its service account.
func (c *Cluster) Install(ctx context.Context, root string) error {
	if err := c.InstallChart(ctx, root, gateNamespace, nil, "serviceaccount.yaml", "rbac.yaml"); err != nil {
		return err
	}
	return c.InstallCRDs(ctx, root)
}

// Report publishes what a node's runtime has loaded, as its reporter does.
func (c *Cluster) Report(ctx context.Context, node, dump string) error {
	_, err := c.Must(ctx, "", "runtimegate", "report", "--once", "--dump="+dump, "--node="+node)
	return err
}

// StartGate installs the webhook, starts runtimegate with the rights that the
// chart gives it, and waits until the API server asks it.
func (c *Cluster) StartGate(ctx context.Context, args ...string) (*Gate, error) {
	// A demo may be kept up for longer than a token's hour.
	kubeconfig, err := c.KubeconfigOf(ctx, "gate", gateNamespace, Release, "--duration=48h")
	if err != nil {
		return nil, err
	}
	g, err := c.LaunchGate(ctx, kubeconfig, args...)
	if err != nil {
		return nil, err
	}
	if err := g.WaitReady(ctx); err != nil {
		return nil, err
	}
	return g, g.waitAsked(ctx)
}

// LaunchGate installs the webhook and starts runtimegate, which reaches the
// API server through a kubeconfig.
func (c *Cluster) LaunchGate(ctx context.Context, kubeconfig string, args ...string) (*Gate, error) {
	g, err := c.newGate()
	if err != nil {
		return nil, err
	}
	manifest, err := webhookFor(g.Webhook, c.Scope)
	if err != nil {
		return nil, err
	}
	if _, err := c.Must(ctx, manifest, "kubectl", "apply", "-f", "-"); err != nil {
		return nil, err
	}
	return g, g.launch("runtimegate", kubeconfig, append([]string{"--self-signed", "--cert-host=127.0.0.1", "--inject-ca=" + configuration}, args...))
}

// LaunchReplica starts one of several gates under a name of its own. What the
// API server asks, and how they come to a certificate, is the caller's.
func (c *Cluster) LaunchReplica(name, kubeconfig string, args ...string) (*Gate, error) {
	g, err := c.newGate()
	if err != nil {
		return nil, err
	}
	return g, g.launch(name, kubeconfig, args)
}

// newGate finds addresses for a gate.
func (c *Cluster) newGate() (*Gate, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return nil, err
	}
	return &Gate{Webhook: ports[0], Health: ports[1], Metrics: ports[2], cluster: c}, nil
}

func (g *Gate) launch(name, kubeconfig string, args []string) (err error) {
	flags := []string{
		"serve", "--kubeconfig=" + kubeconfig, "--log-format=text",
		"--webhook-bind-address=" + g.Webhook, "--health-probe-bind-address=" + g.Health, "--metrics-bind-address=" + g.Metrics,
		"--node-settle=0s", // all nodes here are seconds old
	}
	if g.cluster.Scope != ScopeHandlers {
		flags = append(flags, "--pods-scope="+string(g.cluster.Scope))
	}
	g.Process, err = g.cluster.Background(name, exec.Command(g.cluster.program("runtimegate"), append(flags, args...)...))
	return err
}

// Cluster is the cluster whose gate this is.
func (g *Gate) Cluster() *Cluster { return g.cluster }

// WaitReady waits until the gate says that it is ready.
func (g *Gate) WaitReady(ctx context.Context) error {
	return g.WaitFor(ctx, "runtimegate to be ready", gateTimeout, func(ctx context.Context) error {
		status, body, err := g.Probe(ctx, "/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("/readyz: %d %s", status, body)
		}
		return err
	})
}

// Probe asks one of the health endpoints.
func (g *Gate) Probe(ctx context.Context, path string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.Health+path, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

// probeClass is a RuntimeClass that every gate has something to say of, be it to
// the audit log only.
const probeClass = `{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "is-runtimegate-asked"}, "handler": "is-runtimegate-asked"}`

// waitAsked waits until the API server calls the webhook: it learns of a
// configuration some time after its change.
func (g *Gate) waitAsked(ctx context.Context) error {
	return g.WaitFor(ctx, "the API server to ask runtimegate", gateTimeout, func(ctx context.Context) error {
		result, err := g.cluster.Command(ctx, probeClass, "kubectl", "create", "--dry-run=server", "-f", "-")
		if err != nil {
			return err
		}
		log, err := os.ReadFile(g.cluster.AuditLog())
		if err == nil && !bytes.Contains(log, []byte(`"runtimeclasses.runtimegate.io/condition"`)) {
			err = fmt.Errorf("no word in the audit log of a class that no node can run: %q", result.Stdout+result.Stderr)
		}
		return err
	})
}

// givenPorts are the ports that FreePorts has given away: their servers may not
// listen yet.
var givenPorts sync.Map

// FreePorts finds free loopback ports below those that the kernel gives to
// outgoing connections, so that none of these takes one before its server does.
func FreePorts(n int) ([]string, error) {
	var ports []string
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		listener, err := net.Listen("tcp4", address)
		if err != nil {
			continue
		}
		defer listener.Close()
		if _, taken := givenPorts.LoadOrStore(address, true); taken {
			continue
		}
		if ports = append(ports, address); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("found no %d free ports", n)
}

// StartReporter starts the agent that reports a node.
func (c *Cluster) StartReporter(node string, args ...string) (*Process, error) {
	args = append([]string{"report", "--kubeconfig=" + c.Kubeconfig(), "--node=" + node, "--log-format=text"}, args...)
	return c.Background("reporter", exec.Command(c.program("runtimegate"), args...))
}
