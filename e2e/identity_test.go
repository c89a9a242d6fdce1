package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

const (
	nvidiaDump = "dumps/nvidia-only-containerd-2.4.toml"
	plainDump  = "dumps/plain-containerd-2.4.toml"
)

// noderuntime is one as kubectl takes it; its name is that, or made of the prefix.
func noderuntime(metadata string) string {
	return `{"apiVersion": "runtimegate.io/v1alpha1", "kind": "NodeRuntime", "metadata": {` + metadata + `},
		"spec": {"handlers": [{"name": "stolen"}], "source": "CRI", "observedAt": "2026-01-02T03:04:05Z", "renewedAt": "2026-01-02T03:04:05Z"}}`
}

// TestReporterWritesItsOwnNodeOnly installs the chart and takes the tokens of the
// Pods that its DaemonSet has made on two nodes: each writes the NodeRuntime of
// its node and nothing else.
func TestReporterWritesItsOwnNodeOnly(t *testing.T) {
	const namespace, account, resource = "runtimegate-system", "runtimegate-reporter", "/apis/runtimegate.io/v1alpha1/noderuntimes"
	c := startCluster(t)
	must(t, c.AddNodes(interrupted, harness.Node{Name: "gpu-a"}, harness.Node{Name: "gpu-b", Taints: []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}}))
	must(t, c.InstallCRDs(interrupted, root))
	must(t, c.AddNamespace(interrupted, namespace))
	must(t, c.InstallChart(interrupted, root, namespace, nil, "reporter-rbac.yaml", "reporter-policy.yaml", "reporter-daemonset.yaml"))
	_, err := c.Must(interrupted, "", "kubectl", "rollout", "status", "--timeout=60s", "--namespace="+namespace, "daemonset/"+account)
	must(t, err)

	kubeconfig := func(name, account string, flags ...string) string {
		t.Helper()
		path, err := c.KubeconfigOf(interrupted, name, namespace, account, flags...)
		must(t, err)
		return path
	}
	ofPod := func(node string) string {
		t.Helper()
		pod, err := c.Must(interrupted, "", "kubectl", "get", "pods", "--namespace="+namespace, "--field-selector=spec.nodeName="+node, "-o=name")
		must(t, err)
		return kubeconfig(node, account, "--bound-object-kind=Pod", "--bound-object-name="+strings.TrimPrefix(strings.TrimSpace(pod), "pod/"))
	}
	a, b, unbound, other := ofPod("gpu-a"), ofPod("gpu-b"), kubeconfig("unbound", account), kubeconfig("other", "default")
	ofNode := kubeconfig("of-node", account, "--bound-object-kind=Node", "--bound-object-name=gpu-b")

	const policy = `ValidatingAdmissionPolicy 'runtimegate-reporter' with binding 'runtimegate-reporter' denied request: `
	const notB = policy + `the reporter of node "gpu-a" writes NodeRuntime "gpu-a" only, not "gpu-b"`
	must(t, harness.Poll(interrupted, "the policy to be in force", time.Minute, func(ctx context.Context) error {
		r, err := c.Command(ctx, noderuntime(`"name": "gpu-b"`), "kubectl", "--kubeconfig="+a, "create", "--dry-run=server", "-f", "-")
		if err == nil && !strings.Contains(r.Stderr, notB) {
			err = fmt.Errorf("kubectl says %q", r.Stdout+r.Stderr)
		}
		return err
	}))

	report := func(node, dump string) []string {
		return []string{"runtimegate", "report", "--once", "--node=" + node, "--dump=" + dump}
	}
	kubectl := func(args ...string) []string { return append([]string{"kubectl"}, args...) }
	cannot := func(verb string) string {
		return `User "system:serviceaccount:` + namespace + ":" + account + `" cannot ` + verb + ` resource "noderuntimes" in API group "runtimegate.io" at the cluster scope`
	}
	for _, step := range []struct {
		name, as string
		stdin    string
		command  []string
		exit     int
		want     string
	}{
		{"makes its own", a, "", report("gpu-a", plainDump), 0, "noderuntime.runtimegate.io/gpu-a published"},
		{"writes its own", a, "", report("gpu-a", nvidiaDump), 0, "noderuntime.runtimegate.io/gpu-a published"},
		{"reads its own", a, "", kubectl("get", "nruntime", "gpu-a", "-o=jsonpath={.spec.summary.handlers}"), 0, "nvidia, runc"},
		{"makes another's", a, "", report("gpu-b", plainDump), 2, notB},
		{"makes one with a name that the API server makes", a, noderuntime(`"generateName": "gpu-"`), kubectl("create", "-f", "-"), 1,
			policy + `the reporter of node "gpu-a" writes NodeRuntime "gpu-a" only, not "gpu-`},
		{"the other makes its own", b, "", report("gpu-b", plainDump), 0, "noderuntime.runtimegate.io/gpu-b published"},
		{"writes another's", a, "", report("gpu-b", nvidiaDump), 2, notB},
		{"labels another's", a, "", kubectl("label", "nruntime", "gpu-b", "x=y"), 1, notB},
		{"tries to write another's", a, "", kubectl("label", "--dry-run=server", "nruntime", "gpu-b", "x=y"), 1, notB},
		{"renames its own", a, "", kubectl("patch", "nruntime", "gpu-a", "--type=merge", `-p={"metadata": {"name": "gpu-b"}}`), 1,
			"the name of the object (gpu-b) does not match the name on the URL (gpu-a)"},
		{"puts its own", a, noderuntime(`"name": "gpu-a"`), kubectl("replace", "-f", "-"), 1, cannot("update")},
		{"deletes its own", a, "", kubectl("delete", "nruntime", "gpu-a"), 1, cannot("delete")},
		{"deletes another's", a, "", kubectl("delete", "nruntime", "gpu-b"), 1, cannot("delete")},
		{"deletes all", a, "", kubectl("delete", "--raw="+resource), 1, cannot("deletecollection")},
		{"lists", a, "", kubectl("get", "nruntime"), 1, cannot("list")},
		{"watches", a, "", kubectl("get", "--raw="+resource+"?watch=1"), 1, cannot("watch")},
		{"reads Nodes", a, "", kubectl("get", "node", "gpu-a"), 1, `cannot get resource "nodes"`},
		{"a token of no Pod makes one", unbound, "", report("gpu-c", plainDump), 2, policy + "the token of this reporter is of no node; use that of its Pod"},
		{"a token of no Pod writes one", unbound, "", report("gpu-a", plainDump), 2, policy + "the token of this reporter is of no node; use that of its Pod"},
		{"a token of a Node makes another's", ofNode, "", report("gpu-c", plainDump), 2, policy + `the reporter of node "gpu-b" writes`},
		{"a token of a Node writes its own", ofNode, "", report("gpu-b", plainDump), 0, "gpu-b published"},
		{"another service account has no rights", other, "", report("gpu-a", plainDump), 2,
			`User "system:serviceaccount:` + namespace + `:default" cannot patch resource "noderuntimes"`},
		{"an admin is not restricted", c.Kubeconfig(), "", report("gpu-c", plainDump), 0, "gpu-c published"},
		{"its Pods ask for hostPath", c.Kubeconfig(), "", kubectl("label", "--dry-run=server", "namespace", namespace, "pod-security.kubernetes.io/enforce=baseline"), 0,
			"(and 1 other pod): hostPath volumes\n"},
		{"its Pods ask for root, and for no more", c.Kubeconfig(), "", kubectl("label", "--dry-run=server", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"), 0,
			"(and 1 other pod): restricted volume types, runAsNonRoot != true, runAsUser=0\n"},
		{"what was refused is not done", c.Kubeconfig(), "", kubectl("get", "nruntime", "-o=jsonpath={range .items[*]}{.metadata.name}={.spec.summary.handlers} {end}"), 0,
			"gpu-a=nvidia, runc gpu-b=runc gpu-c=runc "},
	} {
		t.Run(step.name, func(t *testing.T) {
			r, err := c.Command(interrupted, step.stdin, append(step.command, "--kubeconfig="+step.as)...)
			must(t, err)
			if output := r.Stdout + r.Stderr; r.Exit != step.exit || !strings.Contains(output, step.want) {
				t.Errorf("%s\ngot exit code %d and %q,\nwant %d and %q", strings.Join(step.command, " "), r.Exit, output, step.exit, step.want)
			}
		})
	}

	// Whom else an admin lets write, the policy does not restrict.
	_, err = c.Must(interrupted, "", "kubectl", "create", "clusterrolebinding", "other", "--clusterrole="+account, "--serviceaccount="+namespace+":default")
	must(t, err)
	must(t, harness.Poll(interrupted, "another service account to write", time.Minute, func(ctx context.Context) error {
		_, err := c.Must(ctx, "", append(report("gpu-c", nvidiaDump), "--kubeconfig="+other)...)
		return err
	}))
}
