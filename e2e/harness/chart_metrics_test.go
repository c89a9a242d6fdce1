package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/e2e/build"
)

// monitoring are the kinds that the chart makes for Prometheus and Grafana.
var monitoring = []string{"ServiceMonitor", "PrometheusRule", "ConfigMap"}

// rendered returns the objects of those kinds that the chart makes.
func rendered(t *testing.T, values map[string]any) map[string]map[string]any {
	t.Helper()
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := RenderChart(t.Context(), root, "runtimegate-system", values)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]any{}
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		var object map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		for _, kind := range monitoring {
			if object["kind"] == kind {
				found[kind] = object
			}
		}
	}
	return found
}

func TestChartMonitorsNothingUnlessAsked(t *testing.T) {
	if found := rendered(t, nil); len(found) > 0 {
		t.Errorf("got %v", found)
	}
}

// What the chart makes for Prometheus and Grafana is what e2e/promtool tests.
func TestChartMonitors(t *testing.T) {
	on := map[string]any{"enabled": true, "additionalLabels": map[string]any{"release": "prometheus"}}
	found := rendered(t, map[string]any{"nameOverride": "gate", "metrics": map[string]any{
		"serviceMonitor": map[string]any{"enabled": true, "interval": "15s", "relabelings": []any{map[string]any{"targetLabel": "cluster", "replacement": "a"}}},
		"prometheusRule": on, "dashboard": on,
	}})
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(root, "charts/runtimegate", name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	var rules map[string]any
	if err := yaml.Unmarshal(file("rules/alerts.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rules, found["PrometheusRule"]["spec"]); diff != "" {
		t.Errorf("PrometheusRule (-rules +spec):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"runtimegate.json": strings.TrimSpace(string(file("dashboards/runtimegate.json")))}, trimmed(found["ConfigMap"]["data"])); diff != "" {
		t.Errorf("dashboard (-file +data):\n%s", diff)
	}
	for _, kind := range []string{"PrometheusRule", "ConfigMap"} {
		labels := found[kind]["metadata"].(map[string]any)["labels"].(map[string]any)
		if labels["release"] != "prometheus" || labels["app.kubernetes.io/name"] != "gate" {
			t.Errorf("labels of the %s: %v", kind, labels)
		}
	}
	want := map[string]any{
		"namespaceSelector": map[string]any{"matchNames": []any{"runtimegate-system"}},
		"selector":          map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/name": "gate", "app.kubernetes.io/instance": Release}},
		"endpoints": []any{map[string]any{"port": "metrics", "path": "/metrics", "interval": "15s", "relabelings": []any{
			// The alert RuntimegateDown looks for it, whatever the chart is called.
			map[string]any{"targetLabel": "job", "replacement": "runtimegate"},
			map[string]any{"targetLabel": "cluster", "replacement": "a"},
		}}},
	}
	if diff := cmp.Diff(want, found["ServiceMonitor"]["spec"]); diff != "" {
		t.Errorf("ServiceMonitor (-want +got):\n%s", diff)
	}
}

// trimmed takes away the white space that the template adds.
func trimmed(data any) map[string]any {
	texts := data.(map[string]any)
	for name, text := range texts {
		texts[name] = strings.TrimSpace(text.(string))
	}
	return texts
}
