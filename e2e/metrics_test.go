package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// recorded are the series that alerts and the dashboard are tested with beside
// runtimegate's own.
const recorded = "promtool/recorded.prom"

// foreign are those that others count of runtimegate's webhooks: the API server,
// which alone knows of calls that did not come through, and controller-runtime.
var foreign = regexp.MustCompile(`(?m)^(apiserver_admission_webhook_(?:fail_open|rejection)_count\{.*name="[a-z]+\.runtimegate\.io".*\}|controller_runtime_webhook_requests_total\{.*\}) `)

// TestMetricsAreAsRecorded has a class that is let pass and a Pod that is denied,
// then stops the gate, with failurePolicy Ignore and with Fail.
func TestMetricsAreAsRecorded(t *testing.T) {
	g := startGate(t)
	c := g.Cluster()
	must(t, c.AddNamespace(interrupted, "gpu-rt"))
	for _, manifest := range []string{"scenarios/typo/class.yaml", "scenarios/typo/pod.yaml"} {
		_, err := c.Command(interrupted, "", "kubectl", "create", "-f", manifest)
		must(t, err)
	}
	told := scrape(t, g)
	for _, want := range []string{
		`runtimegate_nodes{freshness="Kubelet"} 1`,
		`runtimegate_handler_nodes{handler="nvidia-typo",state="Lacking"} 1`,
		`runtimegate_handler_nodes{handler="(default)",state="Loaded"} 1`,
		`runtimegate_decisions_total{action="Deny",condition="Missing",resource="pods"} 1`,
		`runtimegate_decision_duration_seconds_count{resource="pods"} 1`,
	} {
		if !strings.Contains(told, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if line := regexp.MustCompile(`(?m)^.*Denied.*$`).FindString(g.Tail()); !strings.Contains(line, `"name": "probe-typo", "condition": "Missing", "handler": "nvidia-typo"`) {
		t.Errorf("the log's line of the denial: %q", line)
	}

	g.Kill()
	const class = `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {generateName: any-}, handler: any}`
	_, err := c.Must(interrupted, class, "kubectl", "create", "-f", "-")
	must(t, err)
	_, err = c.Must(interrupted, "", "kubectl", "patch", "validatingwebhookconfiguration", "runtimegate", "--type=json",
		`--patch=[{"op": "replace", "path": "/webhooks/2/failurePolicy", "value": "Fail"}]`)
	must(t, err)
	must(t, harness.Poll(interrupted, "the API server to reject what it can't ask about", time.Minute, func(ctx context.Context) error {
		if _, err := c.Must(ctx, class, "kubectl", "create", "-f", "-"); err == nil {
			return fmt.Errorf("it was created")
		}
		return nil
	}))
	api, err := c.Must(interrupted, "", "kubectl", "get", "--raw", "/metrics")
	must(t, err)
	var lines []string
	for _, match := range foreign.FindAllStringSubmatch(told+api, -1) {
		lines = append(lines, match[1]+" 1\n")
	}
	slices.Sort(lines)
	got := "# What an API server and serve expose, recorded by TestMetricsAreAsRecorded.\n" + strings.Join(lines, "")
	if *update {
		must(t, os.WriteFile(recorded, []byte(got), 0o644))
	}
	want, err := os.ReadFile(recorded)
	must(t, err)
	if got != string(want) {
		t.Errorf("got\n%s\nwant, by %s,\n%s", got, recorded, want)
	}
}

// scrape reads the gate's metrics.
func scrape(t *testing.T, g *harness.Gate) string {
	t.Helper()
	response, err := http.Get("http://" + g.Metrics + "/metrics")
	must(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	must(t, err)
	return string(content)
}
