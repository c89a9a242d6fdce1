// Command psa is the webhook of k8s.io/pod-security-admission as its own main
// runs it, which also tells of itself at $STATS.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/pod-security-admission/cmd/webhook/server"

	"github.com/runtimegate/runtimegate/e2e/peers/serving"
)

func main() {
	serving.Tell(os.Getenv("STATS"))
	os.Exit(cli.Run(server.NewServerCommand()))
}
