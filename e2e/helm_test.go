package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// startRelease starts a cluster with the nodes of the scenario typo.
func startRelease(t *testing.T) (*release, *harness.Scenario) {
	t.Helper()
	c := startCluster(t)
	s, err := harness.LoadScenario("scenarios/typo")
	must(t, err)
	must(t, c.AddNodes(interrupted, s.Nodes...))
	must(t, c.AddNamespace(interrupted, s.Namespaces[0]))
	t.Cleanup(func() {
		if t.Failed() {
			there, err := c.Must(interrupted, "", "kubectl", "get", "nodes,pods,events", "--all-namespaces", "--output=wide")
			t.Logf("%v\n%s", err, there)
		}
	})
	return &release{t: t, c: c, client: newCaller(t, c).client, front: newBalancer(t)}, s
}

// TestChart is the life of a release: a failed installation, one that works, its
// roll-out from Warn to Deny, a rollback, the loss of all replicas with
// failurePolicy Fail, and its end.
func TestChart(t *testing.T) {
	r, s := startRelease(t)
	r.failedInstall()

	notes := r.installed()
	for _, want := range []string{
		"runtimegate 0.1.0 is in namespace runtimegate-system.", "kubectl get noderuntimes", "helm test runtimegate",
		"Nothing is denied, since maxAction is Warn.", "pod-security.kubernetes.io/enforce=privileged",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
	for _, n := range s.Nodes {
		must(t, r.c.Report(interrupted, n.Name, filepath.Join(s.Dir, n.Dump)))
	}
	if said := r.test("--timeout=1s"); !strings.Contains(said, "runtimegate said nothing within 1s: see whether its Pods are ready") {
		t.Errorf("with no replica the test says %q", said)
	}
	r.roll()
	if said := r.test(); !strings.HasPrefix(said, `OK: runtimegate says: handler "runtimegate-selftest"`) {
		t.Errorf("the test says %q", said)
	}
	r.expectPod("warned", `Warning: handler "nvidia-typo" (RuntimeClass "nvidia-typo") is loaded on none of the 3 nodes`)

	r.kubectl(policyForTypo, "create", "-f", "-")
	before := r.state()
	if n := strings.Count(before, "BEGIN CERTIFICATE"); n < 7 { // of 5 webhooks; of the Secret with its CA
		t.Fatalf("%d certificates in %s", n, before)
	}
	r.helm("upgrade", chartPath(), "--reset-then-reuse-values", "--set=maxAction=Deny", "--wait", "--timeout=90s")
	r.expectState("an upgrade", before)
	r.roll()
	for _, folder := range []string{"loaded", "some-nodes-lack-it", "one-node-unknown", "gpu-pool-at-zero", "typo"} {
		r.play(folder)
	}
	before = r.state()
	r.helm("upgrade", chartPath(), "--reset-then-reuse-values", "--set=replicaCount=3", "--server-side=false", "--wait", "--timeout=90s")
	r.expectState("an upgrade by the client, as with Helm 3", before)
	r.upgradeCRDs()
	r.expectState("an upgrade of the CRDs", before)
	r.helm("rollback", "1", "--wait", "--timeout=90s")
	r.expectState("a rollback", before)
	r.roll()
	r.expectPod("warned", `Warning: handler "nvidia-typo"`)

	r.allReplicasDie()

	r.helm("uninstall", "--wait", "--timeout=90s")
	r.expectGone()
	r.stop() // until now they ran on, as Pods do for their shutdown delay
	r.expectGone()
	if left := r.kubectl("", "get", "noderuntimes,runtimepolicies", "--output=name"); strings.Count(left, "\n") != len(s.Nodes)+1 {
		t.Errorf("of NodeRuntimes and RuntimePolicies there are %q", left)
	}
	r.dryRun()
}

// policyForTypo is a RuntimePolicy that changes nothing.
const policyForTypo = `{apiVersion: runtimegate.io/v1alpha1, kind: RuntimePolicy, metadata: {name: research}, spec: {namespaceSelector: {matchLabels: {tenant: research}}, handlers: {allowed: ["nvidia*"]}}}`

// failedInstall has the API server refuse an object that Helm makes after the
// webhook configuration, and removes what is there.
func (r *release) failedInstall() {
	r.t.Helper()
	result := r.tryHelm("install", chartPath(), "--create-namespace", "--set=webhook.failurePolicy=Fail,defaultPolicy.enabled=true,defaultPolicy.spec.actions.Absent=Deny")
	if result.Exit == 0 || !strings.Contains(result.Stderr, "the conditions are Missing, Partial") {
		r.t.Fatalf("exit code %d: %s", result.Exit, result.Stdout+result.Stderr)
	}
	r.kubectl("", "get", "validatingwebhookconfiguration", harness.Release)
	r.helm("uninstall", "--wait", "--timeout=90s")
	r.expectGone()
}

// expectPod makes the class and the Pod of the scenario typo, as a dry run of the
// Pod, until what is said of it is as wanted.
func (r *release) expectPod(how, want string) {
	r.t.Helper()
	r.kubectl("", "apply", "-f", "scenarios/typo/class.yaml")
	must(r.t, harness.Poll(interrupted, "a Pod to be "+how, time.Minute, func(ctx context.Context) error {
		result, err := r.c.Command(ctx, "", "kubectl", "create", "--dry-run=server", "-f", "scenarios/typo/pod.yaml")
		if err == nil && !strings.Contains(result.Stderr, want) {
			err = fmt.Errorf("got %q", result.Stdout+result.Stderr)
		}
		return err
	}))
}

func (r *release) expectState(after, want string) {
	r.t.Helper()
	if is := r.state(); is != want {
		r.t.Errorf("after %s there is\n%s\nnot\n%s", after, is, want)
	}
}

// upgradeCRDs applies CRDs of a version to come as docs/install.md says.
func (r *release) upgradeCRDs() {
	r.t.Helper()
	folder := r.t.TempDir()
	files, err := filepath.Glob(filepath.Join(chartPath(), "crds/*.yaml"))
	must(r.t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(r.t, err)
		later := strings.Replace(string(content), "  names:\n    categories:\n", "  names:\n    shortNames: [later]\n    categories:\n", 1)
		later = strings.ReplaceAll(later, "description: spec is ", "description: since the upgrade, spec is ")
		must(r.t, os.WriteFile(filepath.Join(folder, filepath.Base(file)), []byte(later), 0o600))
	}
	r.kubectl("", "apply", "--server-side", "--force-conflicts", "-f", folder)
	must(r.t, harness.Poll(interrupted, "the CRDs to be those of the upgrade", time.Minute, func(ctx context.Context) error {
		about, err := r.c.Must(ctx, "", "kubectl", "explain", "runtimepolicies.spec")
		if err == nil && !strings.Contains(about, "since the upgrade, spec is ") {
			err = fmt.Errorf("kubectl explain says %q", about)
		}
		return err
	}))
}

// allReplicasDie has the webhook fail closed with nobody there: what brings a
// cluster and runtimegate back passes, and so does what it is not asked about.
func (r *release) allReplicasDie() {
	r.t.Helper()
	r.kubectl("", "delete", "validatingwebhookconfiguration", harness.Release) // an upgrade makes it anew
	r.helm("upgrade", chartPath(), "--reset-then-reuse-values", "--set=webhook.failurePolicy=Fail,maxAction=Deny")
	r.roll()
	r.kubectl("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: nvidia}, handler: nvidia}", "create", "-f", "-")
	r.expectPod("denied", `admission webhook "pods.runtimegate.io" denied the request`)
	for _, g := range r.replicas {
		g.Kill()
	}
	r.replicas = nil

	must(r.t, r.c.AddNodes(interrupted, harness.Node{Name: "spare"}))
	r.kubectl("", "label", "node", "gpu-a", "mended=true")
	for namespace, class := range map[string]string{"kube-system": "nvidia", system: "nvidia", "gpu-rt": ""} {
		r.kubectl(plainPod(class), "create", "--namespace="+namespace, "-f", "-")
	}
	r.kubectl("", "rollout", "restart", "deployment/runtimegate", "daemonset/runtimegate-reporter", "--namespace="+system)
	r.kubectl("", "rollout", "status", "deployment/runtimegate", "--namespace="+system, "--timeout=60s")
	r.kubectl("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: other}, handler: other}", "create", "-f", "-")
	r.kubectl("", "delete", "runtimeclass", "other")
	result, err := r.c.Command(interrupted, plainPod("nvidia"), "kubectl", "create", "--namespace=gpu-rt", "-f", "-")
	must(r.t, err)
	if !strings.Contains(result.Stderr, `failed calling webhook "pods.runtimegate.io"`) {
		r.t.Errorf("a Pod with a class passes: %q", result.Stdout+result.Stderr)
	}

	r.roll()
	must(r.t, harness.Poll(interrupted, "a Pod with a class to pass", time.Minute, func(ctx context.Context) error {
		_, err := r.c.Must(ctx, plainPod("nvidia"), "kubectl", "create", "--namespace=gpu-rt", "-f", "-")
		return err
	}))
}

// plainPod is a Pod, of a class if one is named.
func plainPod(class string) string {
	if class != "" {
		class = "runtimeClassName: " + class + ", "
	}
	return "{apiVersion: v1, kind: Pod, metadata: {generateName: pod-}, spec: {" + class + plainSpec + "}}"
}

// dryRun has the API server look at all that the chart makes of the values that
// e2e/chart has goldens of. The kinds of others are there, too.
func (r *release) dryRun() {
	r.t.Helper()
	for _, file := range crdsOfOthers(r.t) {
		r.kubectl("", "create", "-f", file)
	}
	r.kubectl("", "create", "namespace", "monitoring")
	r.kubectl("", "create", "serviceaccount", "runtimegate-test", "--namespace="+system) // a Pod's has to be there
	files, err := filepath.Glob("chart/testdata/*.values.yaml")
	must(r.t, err)
	for _, file := range files {
		_, err := r.c.Must(interrupted, "", "helm", "lint", "--strict", chartPath(), "--values="+file)
		must(r.t, err)
		manifests := r.helm("template", chartPath(), "--values="+file)
		out := r.kubectl(manifests, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
		objects := strings.Count("\n"+manifests, "\nkind: ")
		if applied := strings.Count(out, "serverside-applied"); applied != objects || objects < 10 {
			r.t.Errorf("%s: of %d objects the API server takes %d:\n%s", file, objects, applied, out)
		}
	}
	if len(files) < 4 {
		r.t.Errorf("only %q", files)
	}
}
