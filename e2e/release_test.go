package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// system is the namespace of the release.
const system = "runtimegate-system"

// A release is the chart, installed by the real Helm. kwok plays its Pods and runs
// nothing: runtimegate runs beside the cluster, with the arguments of its
// Deployment and a token of its service account, and the API server calls it
// through a balancer in place of the Service, which webhook.url.host says.
type release struct {
	t        *testing.T
	c        *harness.Cluster
	client   kubernetes.Interface
	front    *balancer
	replicas []*harness.Gate
	launched int
}

// helm runs Helm on the release, and returns what it printed.
func (r *release) helm(verb string, args ...string) string {
	r.t.Helper()
	result := r.tryHelm(verb, args...)
	if result.Exit != 0 {
		r.t.Fatalf("helm %s: exit code %d: %s", verb, result.Exit, result.Stdout+result.Stderr)
	}
	return result.Stdout
}

func (r *release) tryHelm(verb string, args ...string) harness.Result {
	r.t.Helper()
	line := append([]string{"helm", verb, harness.Release}, args...)
	result, err := r.c.Command(interrupted, "", append(line, "--namespace="+system)...)
	must(r.t, err)
	return result
}

// chartPath is the folder of the chart.
func chartPath() string { return filepath.Join(root, "charts/runtimegate") }

func (r *release) kubectl(stdin string, args ...string) string {
	r.t.Helper()
	out, err := r.c.Must(interrupted, stdin, append([]string{"kubectl"}, args...)...)
	must(r.t, err)
	return out
}

// installed is the first installation: in Warn mode, as docs/install.md says.
func (r *release) installed() (notes string) {
	r.t.Helper()
	return r.helm("install", chartPath(), "--create-namespace", "--wait", "--timeout=90s", "--set="+strings.Join([]string{
		"webhook.url.host=" + r.front.address, "maxAction=Warn",
		"nodeSettle=0s", // all nodes here are seconds old
		"shutdownDelaySeconds=0", "shutdownDrainSeconds=0",
	}, ","))
}

// roll has replicas with the arguments that the Deployment has now take the place
// of those that run, as its controller and kubelets would.
func (r *release) roll() {
	r.t.Helper()
	var args []string
	must(r.t, json.Unmarshal([]byte(r.kubectl("", "get", "deployment", harness.Release, "--namespace="+system,
		"--output=jsonpath={.spec.template.spec.containers[0].args}")), &args))
	args = slices.DeleteFunc(args[1:], func(arg string) bool { return strings.Contains(arg, "-bind-address=") })
	kubeconfig, err := r.c.KubeconfigOf(interrupted, "gate", system, harness.Release)
	must(r.t, err)
	var fresh []*harness.Gate
	for range 2 {
		r.launched++
		g, err := r.c.LaunchReplica(fmt.Sprintf("replica%d", r.launched), kubeconfig, args...)
		must(r.t, err)
		fresh = append(fresh, g)
	}
	for _, g := range fresh {
		must(r.t, g.WaitReady(interrupted))
	}
	r.front.set(fresh...)
	for _, old := range r.replicas {
		log, err := os.ReadFile(old.Log)
		must(r.t, err)
		if bytes.Contains(log, []byte("forbidden")) {
			r.t.Errorf("%s lacks rights:\n%s", old.Name, log)
		}
	}
	r.stop()
	r.replicas = fresh
}

// stop tells all replicas to end, and expects that they do.
func (r *release) stop() {
	r.t.Helper()
	for _, g := range r.replicas {
		if code, err := g.Terminate(time.Minute); err != nil || code != 0 {
			r.t.Errorf("%s ended with %d, %v", g.Name, code, err)
		}
	}
	r.replicas = nil
}

// test is "helm test" with this test for a kubelet: it runs what the hook's Pod
// has to run, with more flags and the Pod's rights, and says how it ended.
func (r *release) test(flags ...string) (said string) {
	r.t.Helper()
	done := make(chan harness.Result, 1)
	go func() { done <- r.tryHelm("test", "--timeout=90s") }()
	const name = "runtimegate-test"
	r.kubectl("", "wait", "--for=create", "--timeout=60s", "--namespace="+system, "pod/"+name)
	r.kubectl("", "wait", "--for=jsonpath={.status.phase}=Running", "--timeout=60s", "--namespace="+system, "pod/"+name)
	var args []string
	must(r.t, json.Unmarshal([]byte(r.kubectl("", "get", "pod", name, "--namespace="+system, "--output=jsonpath={.spec.containers[0].args}")), &args))
	kubeconfig, err := r.c.KubeconfigOf(interrupted, "test", system, name, "--bound-object-kind=Pod", "--bound-object-name="+name)
	must(r.t, err)
	result, err := r.c.Command(interrupted, "", slices.Concat([]string{"runtimegate"}, args, flags, []string{"--kubeconfig=" + kubeconfig})...)
	must(r.t, err)
	phase := "Succeeded"
	if result.Exit != 0 {
		phase = "Failed"
	}
	r.kubectl("", "patch", "pod", name, "--namespace="+system, "--subresource=status", "--type=merge", `--patch={"status": {"phase": "`+phase+`"}}`)
	if helm := <-done; helm.Exit != result.Exit {
		r.t.Errorf("the test's Pod %s, and helm test ended with %d: %s", phase, helm.Exit, helm.Stdout+helm.Stderr)
	}
	return result.Stdout + result.Stderr
}

// state is what the chart makes and leaves to the replicas to write, and the
// objects of runtimegate's own kinds: neither an upgrade nor a rollback may change
// any of it.
func (r *release) state() string {
	r.t.Helper()
	var b strings.Builder
	hooks, err := r.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(interrupted, harness.Release, metav1.GetOptions{})
	must(r.t, err)
	for _, hook := range hooks.Webhooks {
		fmt.Fprintf(&b, "%s %s\n", hook.Name, hook.ClientConfig.CABundle)
	}
	secret, err := r.client.CoreV1().Secrets(system).Get(interrupted, "runtimegate-cert", metav1.GetOptions{})
	must(r.t, err)
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		fmt.Fprintf(&b, "%s %s\n", key, secret.Data[key])
	}
	for _, kind := range []string{"noderuntimes", "runtimepolicies"} {
		list, err := r.client.CoreV1().RESTClient().Get().AbsPath("/apis/runtimegate.io/v1alpha1/" + kind).DoRaw(interrupted)
		must(r.t, err)
		var objects struct {
			Items []struct {
				Metadata struct{ Name, UID string }
				Spec     any
			}
		}
		must(r.t, json.Unmarshal(list, &objects))
		for _, o := range objects.Items {
			fmt.Fprintf(&b, "%s %s %s %v\n", kind, o.Metadata.Name, o.Metadata.UID, o.Spec)
		}
	}
	return b.String()
}

// stays are the objects of that name which an uninstallation leaves: the CRDs and
// their API, which Helm does not remove, and the namespace, which it made on request.
var stays = []string{
	"CustomResourceDefinition/noderuntimes.runtimegate.io",
	"CustomResourceDefinition/runtimepolicies.runtimegate.io",
	"APIService/v1alpha1.runtimegate.io",
	"Namespace/" + system,
}

// notLooked are kinds of which nothing is to be said: Events, which the API server
// forgets, those that the CRDs keep, and one that is none.
var notLooked = []string{"events", "events.events.k8s.io", "noderuntimes.runtimegate.io", "runtimepolicies.runtimegate.io", "componentstatuses"}

// left are all other objects of the release, by name and by label, of every kind
// that the API server has.
func (r *release) left(ctx context.Context) ([]string, error) {
	kinds, err := r.c.Must(ctx, "", "kubectl", "api-resources", "--verbs=list", "--output=name")
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(strings.Fields(kinds), func(kind string) bool { return slices.Contains(notLooked, kind) })
	out, err := r.c.Must(ctx, "", "kubectl", "get", strings.Join(all, ","), "--all-namespaces",
		`--output=jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.labels.app\.kubernetes\.io/instance}{"\n"}{end}`)
	if err != nil {
		return nil, err
	}
	if len(all) < 50 || !strings.Contains(out, "Namespace/kube-system") {
		return nil, fmt.Errorf("of %d kinds there is only\n%s", len(all), out)
	}
	var left []string
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(line, " ")
		if strings.Contains(line, harness.Release) && !slices.Contains(stays, name) {
			left = append(left, name)
		}
	}
	return left, nil
}

// expectGone waits until controllers have removed what they had made.
func (r *release) expectGone() {
	r.t.Helper()
	must(r.t, harness.Poll(interrupted, "everything to be gone", time.Minute, func(ctx context.Context) error {
		names, err := r.left(ctx)
		if err == nil && len(names) > 0 {
			err = fmt.Errorf("left: %s", strings.Join(names, " "))
		}
		return err
	}))
}

// crdsOfOthers are files of the CustomResourceDefinitions of cert-manager and of
// the Prometheus operator that the chart makes objects of.
func crdsOfOthers(t *testing.T) (files []string) {
	t.Helper()
	for module, names := range map[string][]string{
		"github.com/cert-manager/cert-manager":               {"deploy/crds/cert-manager.io_certificates.yaml", "deploy/crds/cert-manager.io_issuers.yaml"},
		"github.com/prometheus-operator/prometheus-operator": {prometheusCRDs + "servicemonitors.yaml", prometheusCRDs + "prometheusrules.yaml"},
	} {
		download := exec.CommandContext(interrupted, "go", "mod", "download", "-json", module)
		download.Dir = "chart/crds"
		out, err := download.Output()
		must(t, err)
		var m struct{ Dir string }
		must(t, json.Unmarshal(out, &m))
		for _, name := range names {
			files = append(files, filepath.Join(m.Dir, name))
		}
	}
	return files
}

const prometheusCRDs = "example/prometheus-operator-crd/monitoring.coreos.com_"

// play plays a scenario through the release, with the scenario's nodes in place of
// those that are there.
func (r *release) play(folder string) {
	r.t.Helper()
	s, err := harness.LoadScenario(filepath.Join("scenarios", folder))
	must(r.t, err)
	r.kubectl("", "delete", "pods", "--all-namespaces", "--force", "--field-selector=metadata.namespace!="+system)
	r.kubectl("", "delete", "nodes,noderuntimes,runtimeclasses", "--all")
	r.know(0)
	must(r.t, r.c.AddNodes(interrupted, s.Nodes...))
	fresh := 0
	for _, namespace := range s.Namespaces {
		if there := r.kubectl("", "get", "namespace", namespace, "--ignore-not-found", "--output=name"); there == "" {
			must(r.t, r.c.AddNamespace(interrupted, namespace))
		}
	}
	for _, n := range s.Nodes {
		if n.Dump != "" {
			must(r.t, r.c.Report(interrupted, n.Name, filepath.Join(s.Dir, n.Dump)))
			fresh++
		}
	}
	r.know(fresh)
	play(r.t, r.c, s.SessionPath())
}

// know waits until all replicas know that so many nodes have reported.
func (r *release) know(fresh int) {
	r.t.Helper()
	want := fmt.Sprintf("\nruntimegate_nodes{freshness=\"Fresh\"} %d\n", fresh)
	for _, g := range r.replicas {
		must(r.t, g.WaitFor(interrupted, "the nodes to be known", time.Minute, func(context.Context) error {
			if !strings.Contains(scrape(r.t, g), want) {
				return fmt.Errorf("the metrics lack %q", want)
			}
			return nil
		}))
	}
}
