package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// RealNodeNamespace is where the chart is installed for a RealNode.
const RealNodeNamespace = "runtimegate-system"

// InstallGate installs the chart with its image, both as they are, on the node,
// by the real Helm.
func (n *RealNode) InstallGate(ctx context.Context, root string) error {
	values, err := n.chartValues()
	if err != nil {
		return err
	}
	_, err = n.cluster.Must(ctx, values, "helm", "install", Release, filepath.Join(root, "charts/runtimegate"),
		"--namespace="+RealNodeNamespace, "--create-namespace", "--values=-", "--wait", "--timeout=120s")
	if err == nil {
		return nil
	}
	pods, _ := n.cluster.Must(ctx, "", "kubectl", "get", "pods,events", "--namespace="+RealNodeNamespace, "--output=wide")
	return fmt.Errorf("%w\n%s", err, pods)
}

// RestartReporter has the node's reporter start anew, so that it counts no restart of
// containerd from before.
func (n *RealNode) RestartReporter(ctx context.Context) error {
	for _, do := range []string{"restart", "status"} {
		if _, err := n.cluster.Must(ctx, "", "kubectl", "rollout", do, "daemonset", "--namespace="+RealNodeNamespace); err != nil {
			return err
		}
	}
	return nil
}

// chartValues are what the node lacks: without a network for Pods these are in
// that of the host, where the API server is not behind the Service kubernetes;
// and its runc knows no seccomp, which a Pod goes without only if it is
// privileged.
func (n *RealNode) chartValues() (string, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return "", err
	}
	config, err := clientcmd.BuildConfigFromFlags("", n.cluster.Kubeconfig())
	if err != nil {
		return "", err
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return "", err
	}
	port := func(address string) string { _, p, _ := net.SplitHostPort(address); return p }
	env := []any{
		map[string]any{"name": "KUBERNETES_SERVICE_HOST", "value": server.Hostname()},
		map[string]any{"name": "KUBERNETES_SERVICE_PORT", "value": server.Port()},
	}
	privileged := map[string]any{"privileged": true, "allowPrivilegeEscalation": nil, "capabilities": nil}
	values, err := yaml.Marshal(map[string]any{
		"image":           map[string]any{"repository": RealNodeImage, "tag": RealNodeTag},
		"replicaCount":    1,
		"nodeSettle":      "0s", // it is seconds old
		"healthPort":      json.Number(port(ports[2])),
		"metrics":         map[string]any{"port": json.Number(port(ports[1]))},
		"webhook":         map[string]any{"port": json.Number(port(ports[0])), "url": map[string]any{"host": ports[0]}},
		"hostNetwork":     true,
		"extraEnv":        env,
		"securityContext": privileged,
		"reporter": map[string]any{
			"hostNetwork": true, "extraEnv": env, "securityContext": privileged,
			"mountPropagation": "None", // the node's mounts are not shared
		},
	})
	return string(values), err
}
