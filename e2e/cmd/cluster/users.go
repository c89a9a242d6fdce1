package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// users are who may use the API server with a token of their own, and the
// group that gives them their rights (RBAC knows the components by name).
var users = []struct{ file, name, group string }{
	{"admin", "admin", "system:masters"},
	{"scheduler", "system:kube-scheduler", ""},
	{"controller-manager", "system:kube-controller-manager", ""},
	{"node", "system:node:node-a", "system:nodes"}, // harness.RealNodeName
}

// writeUsers writes the API server's token file, and for each user a
// kubeconfig to reach it at address.
func writeUsers(dir, address string, p *pki) error {
	var tokens strings.Builder
	for _, u := range users {
		token := rand.Text()
		fmt.Fprintf(&tokens, "%s,%s,%s,%q\n", token, u.name, u.file, u.group)
		if err := writeKubeconfig(kubeconfig(dir, u.file), address, token, p); err != nil {
			return fmt.Errorf("write kubeconfig of %s: %w", u.name, err)
		}
	}
	return os.WriteFile(p.path("tokens.csv"), []byte(tokens.String()), 0o600)
}

func kubeconfig(dir, user string) string { return filepath.Join(dir, user+".kubeconfig") }

func writeKubeconfig(path, address, token string, p *pki) error {
	ca, err := os.ReadFile(p.path("ca.crt"))
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &clientcmdapi.Cluster{Server: "https://" + address, CertificateAuthorityData: ca}
	config.AuthInfos["e2e"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e"}
	config.CurrentContext = "e2e"
	return clientcmd.WriteToFile(*config, path)
}
