package chart

import (
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/e2e/build"
	"github.com/runtimegate/runtimegate/e2e/harness"
)

// render renders the chart with values as YAML.
func render(t *testing.T, values string) (string, error) {
	t.Helper()
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		t.Fatal(err)
	}
	return harness.RenderChart(t.Context(), root, "runtimegate-system", v)
}

// TestTemplates compares what the templates make of values with the files beside
// these.
func TestTemplates(t *testing.T) {
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %q, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".values.yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			manifests, err := render(t, string(read(t, file)))
			if err != nil {
				t.Fatal(err)
			}
			expect(t, name+".golden.yaml", manifests, "read what has changed, then go test ./chart -args -update")
		})
	}
}

// TestWrongValuesAreRefused has the schema, and where it can't, a template say what
// is wrong.
func TestWrongValuesAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		`maxActoin: Warn`:                                               "additional properties 'maxActoin' not allowed",
		`webhook: {failurepolicy: Fail}`:                                "additional properties 'failurepolicy' not allowed",
		`webhook: {failurePolicy: Deny}`:                                "at '/webhook/failurePolicy': value must be one of 'Ignore', 'Fail'",
		`webhook: {timeoutSeconds: 31}`:                                 "at '/webhook/timeoutSeconds': maximum: got 31, want 30",
		`webhook: {timeoutSeconds: "3"}`:                                "at '/webhook/timeoutSeconds': got string, want integer",
		`webhook: {port: 0}`:                                            "at '/webhook/port': minimum: got 0, want 1",
		`webhook: {url: {host: "https://gate:9443"}}`:                   "at '/webhook/url/host': 'https://gate:9443' does not match pattern",
		`maxAction: Ignore`:                                             "at '/maxAction': value must be one of 'Deny', 'Warn', 'Audit'",
		`runtimeClassMissing: Audit`:                                    "at '/runtimeClassMissing': value must be one of 'Warn', 'Deny'",
		`pods: {scope: Namespace}`:                                      "at '/pods/scope': value must be one of 'Class', 'All'",
		`exemptNamespaces: [Default]`:                                   "at '/exemptNamespaces/0': 'Default' does not match pattern",
		`exemptNamespaces: a`:                                           "at '/exemptNamespaces': got string, want array",
		`staleAfter: 15`:                                                "at '/staleAfter': got number, want string",
		`nodeSettle: ten minutes`:                                       "at '/nodeSettle': 'ten minutes' does not match pattern",
		`replicaCount: 0`:                                               "at '/replicaCount': minimum: got 0, want 1",
		`image: {digest: "0.1.0"}`:                                      "at '/image/digest': '0.1.0' does not match pattern",
		`image: {pullPolicy: Sometimes}`:                                "at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'",
		`imagePullSecrets: [registry]`:                                  "at '/imagePullSecrets/0': got string, want object",
		`extraArgs: [v=4]`:                                              "at '/extraArgs/0': 'v=4' does not match pattern '^--'",
		`podDisruptionBudget: {minAvailable: half}`:                     "at '/podDisruptionBudget/minAvailable'",
		`certificates: {mode: Manual}`:                                  "at '/certificates/mode': value must be one of 'BuiltIn', 'CertManager', 'Secret'",
		`certificates: {mode: Secret, caBundle: MIIB}`:                  "at '/certificates/caBundle': 'MIIB' does not match pattern",
		`certificates: {mode: Secret}`:                                  "certificates.mode Secret needs certificates.secretName",
		`certificates: {mode: Secret, secretName: gate}`:                "certificates.mode Secret needs certificates.caBundle, the authority",
		`reporter: {distribution: docker}`:                              "at '/reporter/distribution': value must be one of '', 'containerd', 'cri-o', 'k0s', 'k3s', 'microk8s', 'rke2'",
		`reporter: {extraHostPaths: [opt/kata]}`:                        "at '/reporter/extraHostPaths/0': 'opt/kata' does not match pattern '^/'",
		`reporter: {mountPropagation: Bidirectional}`:                   "at '/reporter/mountPropagation': value must be one of 'None', 'HostToContainer'",
		`reporter: {tolerations: {operator: Exists}}`:                   "at '/reporter/tolerations': got object, want array",
		`metrics: {serviceMonitor: {interval: often}}`:                  "at '/metrics/serviceMonitor/interval': 'often' does not match pattern",
		`networkPolicy: {enabled: true, apiServerPorts: []}`:            "at '/networkPolicy/apiServerPorts': minItems: got 0, want 1",
		`defaultPolicy: {enabled: "true"}`:                              "at '/defaultPolicy/enabled': got string, want boolean",
		`podAnnotations: {sidecar.istio.io/inject: false}`:              "at '/podAnnotations/sidecar.istio.io~1inject': got boolean, want string",
		`nodeSelector: [gpu]`:                                           "at '/nodeSelector': got array, want object",
		`shutdownDelaySeconds: 10s`:                                     "at '/shutdownDelaySeconds': got string, want integer",
		`serviceAccount: {name: Gate}`:                                  "at '/serviceAccount/name': 'Gate' does not match pattern",
		`certificates: {certManager: {issuerRef: {name: a, type: CA}}}`: "additional properties 'type' not allowed",
	} {
		t.Run(values, func(t *testing.T) {
			if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v\nwant %s", err, want)
			}
		})
	}
}
