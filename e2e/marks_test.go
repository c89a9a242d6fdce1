package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// TestMarksOfNodes has two replicas, of which the leader marks Nodes, and a class
// that selects the label: the real scheduler then keeps off a node that lacks the
// handler. The leader ends and the other takes over. Other parts of Nodes the
// replicas may not write.
func TestMarksOfNodes(t *testing.T) {
	c := startCluster(t)
	must(t, c.AddNodes(interrupted, harness.Node{Name: "gpu-a"}, harness.Node{Name: "gpu-b"}, harness.Node{Name: "cpu-a", Handlers: []string{"", "runc"}}))
	must(t, c.AddNamespace(interrupted, system))
	values := map[string]any{"nodeLabels": map[string]any{"enabled": true}, "nodeCondition": map[string]any{"enabled": true}}
	must(t, c.InstallChart(interrupted, root, system, values, "serviceaccount.yaml", "rbac.yaml", "node-marks.yaml", "flowschema.yaml"))
	must(t, c.InstallCRDs(interrupted, root))
	kubeconfig, err := c.KubeconfigOf(interrupted, "gate", system, harness.Release)
	must(t, err)
	kubectl := func(stdin string, args ...string) string {
		t.Helper()
		output, err := c.Must(interrupted, stdin, append([]string{"kubectl"}, args...)...)
		must(t, err)
		return output
	}
	start := func(name string) *harness.Gate {
		t.Helper()
		g, err := c.LaunchReplica(name, kubeconfig, "--self-signed", "--leader-election-namespace="+system, "--node-labels", "--node-condition")
		must(t, err)
		must(t, g.WaitReady(interrupted))
		return g
	}
	// expect waits for a label of a Node, and what its condition says.
	expect := func(node, handler, value, condition string) {
		t.Helper()
		path := `{.metadata.labels.handler\.runtimegate\.io/` + handler + `} {range .status.conditions[?(@.type=="RuntimeHandlersReady")]}{.status} {.reason}{end}`
		must(t, harness.Poll(interrupted, "the marks of "+node, time.Minute, func(ctx context.Context) error {
			is, err := c.Must(ctx, "", "kubectl", "get", "node", node, "--output=jsonpath="+path)
			if err == nil && is != value+" "+condition {
				err = fmt.Errorf("got %q, want %q", is, value+" "+condition)
			}
			return err
		}))
	}

	// These reports are of files: none has asked the running runtime, and the
	// condition says so.
	leader := start("replica1")
	must(t, c.Report(interrupted, "gpu-a", nvidiaDump))
	expect("gpu-a", "nvidia", "true", "Unknown NotReported")
	expect("gpu-b", "nvidia", "", "Unknown NotReported")
	must(t, c.Report(interrupted, "cpu-a", "dumps/plain-containerd-2.4.toml"))
	expect("cpu-a", "runc", "true", "True HandlersLoaded")
	kubectl(`{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: nvidia}, handler: nvidia, scheduling: {nodeSelector: {handler.runtimegate.io/nvidia: "true"}}}`, "create", "-f", "-")
	for i := range 4 {
		kubectl(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: gpu-%d}, spec: {runtimeClassName: nvidia, %s}}`, i, plainSpec), "create", "-f", "-")
	}
	kubectl("", "wait", "--for=condition=PodScheduled", "--timeout=60s", "pods", "--all")
	if on := kubectl("", "get", "pods", "--output=jsonpath={.items[*].spec.nodeName}"); on != "gpu-a gpu-a gpu-a gpu-a" {
		t.Errorf("the Pods are on %s", on)
	}

	start("replica2")
	holder := func() string {
		return kubectl("", "get", "lease", harness.Release, "--namespace="+system, "--output=jsonpath={.spec.holderIdentity}")
	}
	was := holder()
	if code, err := leader.Terminate(time.Minute); err != nil || code != 0 {
		t.Errorf("the leader ended with %d, %v", code, err)
	}
	must(t, harness.Poll(interrupted, "another leader", time.Minute, func(context.Context) error {
		if is := holder(); is == was || is == "" {
			return fmt.Errorf("the leader is %q", is)
		}
		return nil
	}))
	must(t, c.Report(interrupted, "gpu-b", nvidiaDump))
	expect("gpu-b", "nvidia", "true", "Unknown NotReported")

	const runcDump = "dumps/plain-containerd-2.4.toml"
	must(t, c.Report(interrupted, "gpu-a", runcDump))
	expect("gpu-a", "nvidia", "", "Unknown NotReported")

	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(t, err)
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	nodes := client.CoreV1().Nodes()
	expectAllOfStatus(t)
	for patch, want := range map[string]string{
		`{"metadata": {"labels": {"zone": "a"}}}`:                              "of the labels of Nodes runtimegate changes handler.runtimegate.io/… only",
		`{"metadata": {"labels": {"kubernetes.io/os": null}}}`:                 "of the labels of Nodes runtimegate changes handler.runtimegate.io/… only",
		`{"spec": {"unschedulable": true}}`:                                    "of Nodes runtimegate changes labels and a condition only",
		`{"metadata": {"annotations": {"a": "b"}}}`:                            "of Nodes runtimegate changes labels and a condition only",
		`{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}`:   "runtimegate changes the condition RuntimeHandlersReady only",
		`{"status": {"allocatable": {"cpu": "1"}}}`:                            "runtimegate changes the condition RuntimeHandlersReady only",
		`{"status": {"conditions": [{"$patch": "delete", "type": "Ready"}]}}`:  "runtimegate changes the condition RuntimeHandlersReady only",
		`{"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 6666}}}}`: "runtimegate changes the condition RuntimeHandlersReady only",
		`{"status": {"volumesAttached": [{"name": "a", "devicePath": "b"}]}}`:  "runtimegate changes the condition RuntimeHandlersReady only",
		`{"status": {"images": [{"names": ["a"]}]}}`:                           "runtimegate changes the condition RuntimeHandlersReady only",
		`{"status": {"phase": "Pending"}}`:                                     "runtimegate changes the condition RuntimeHandlersReady only",
		`{"status": {"features": {"supplementalGroupsPolicy": true}}}`:         "runtimegate changes the condition RuntimeHandlersReady only",
		`{"status": {"runtimeHandlers": [{"name": "forged"}]}}`:                "runtimegate changes the condition RuntimeHandlersReady only",
	} {
		var part []string
		if strings.HasPrefix(patch, `{"status"`) {
			part = []string{"status"}
		}
		_, err := nodes.Patch(interrupted, "gpu-b", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, part...)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", patch, err, want)
		}
	}
	if err := nodes.Delete(interrupted, "gpu-b", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a Node is deleted: %v", err)
	}
}

// expectAllOfStatus: the policy names all fields that a NodeStatus has in this
// version.
func expectAllOfStatus(t *testing.T) {
	t.Helper()
	policy, err := os.ReadFile(filepath.Join(chartPath(), "templates/node-marks.yaml"))
	must(t, err)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[corev1.NodeStatus]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !strings.Contains(string(policy), "oldObject.status.?"+name) {
			t.Errorf("the policy does not look at status.%s of Nodes", name)
		}
	}
}
