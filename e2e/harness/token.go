package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
)

// KubeconfigOf makes a kubeconfig with a token of a service account. More flags
// of "kubectl create token" say what the token is bound to.
func (c *Cluster) KubeconfigOf(ctx context.Context, name, namespace, serviceAccount string, flags ...string) (path string, err error) {
	args := append([]string{"kubectl", "create", "token", serviceAccount, "--namespace=" + namespace}, flags...)
	token, err := c.Must(ctx, "", args...)
	if err != nil {
		return "", err
	}
	config, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil {
		return "", fmt.Errorf("read the admin's kubeconfig: %w", err)
	}
	for _, user := range config.AuthInfos {
		user.Token = strings.TrimSpace(token)
	}
	path = filepath.Join(c.Dir, name+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}
