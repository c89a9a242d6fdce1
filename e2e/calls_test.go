package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

const (
	podsHook      = "pods.runtimegate.io"
	workloadsHook = "workloads.runtimegate.io"
)

// plainPods is how many Pods that need nothing are made.
const plainPods = 1000

// kinds are those of the workloads.
var kinds = []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController", "PodTemplate"}

// TestOnlyWhatNeedsAHandlerCausesACall counts, by the API server's own metrics,
// how often it calls the gate.
func TestOnlyWhatNeedsAHandlerCausesACall(t *testing.T) {
	c := startCluster(t)
	must(t, c.Install(interrupted, root))
	_, err := c.StartGate(interrupted)
	must(t, err)
	_, err = c.Must(interrupted, `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: some}, handler: some}`, "kubectl", "create", "-f", "-")
	must(t, err)
	api := newCaller(t, c)

	t.Run("no Pod that needs nothing", func(t *testing.T) {
		api.expect(t, podsHook, 0, func() { createPlainPods(t, api.client, plainPods) })
	})
	for name, test := range podCalls {
		t.Run("Pod: "+name, func(t *testing.T) {
			api.expect(t, podsHook, test.calls, func() { api.create(t, pod(test.metadata, test.spec)) })
		})
	}
	t.Run("Pod: the last of 5,000 mounts", func(t *testing.T) {
		api.expect(t, podsHook, 1, func() { api.create(t, pod("", manyMounts(50, 100))) })
	})
	for _, kind := range kinds {
		t.Run(kind+" that needs nothing", func(t *testing.T) {
			api.expect(t, workloadsHook, 0, func() { api.create(t, workload(kind, "plain", plainSpec)) })
		})
	}
	t.Run("a new image of a Deployment that needs nothing", func(t *testing.T) {
		api.expect(t, workloadsHook, 0, func() {
			api.expect(t, podsHook, 0, func() { rollOut(t, c, "deployment/plain", "app:2") })
		})
	})
	for _, kind := range kinds {
		t.Run(kind+" that names a class", func(t *testing.T) {
			api.expect(t, workloadsHook, 1, func() { api.create(t, workload(kind, "class", "runtimeClassName: some, "+plainSpec)) })
		})
	}
	t.Run("a template that needs a feature", func(t *testing.T) {
		api.expect(t, workloadsHook, 1, func() { api.create(t, workload("PodTemplate", "feature", "hostUsers: false, "+plainSpec)) })
	})
	if n := api.metric(t, "apiserver_admission_match_condition_evaluation_errors_total", ""); n != 0 {
		t.Errorf("%d match conditions could not be evaluated", n)
	}

	t.Run("scope All: a Pod that needs nothing", func(t *testing.T) {
		c.Scope = harness.ScopeAll
		_, err := c.StartGate(interrupted)
		must(t, err)
		before := api.calls(t, podsHook)
		must(t, harness.Poll(interrupted, "a call", time.Minute, func(context.Context) error {
			api.create(t, pod("", plainSpec))
			if api.calls(t, podsHook) == before {
				return fmt.Errorf("there was none")
			}
			return nil
		}))
	})
}

// rollOut gives a Deployment another image, and waits for a Pod of it.
func rollOut(t *testing.T, c *harness.Cluster, deployment, image string) {
	t.Helper()
	_, err := c.Must(interrupted, "", "kubectl", "set", "image", deployment, "main="+image)
	must(t, err)
	must(t, harness.Poll(interrupted, "a Pod of the new image", time.Minute, func(ctx context.Context) error {
		images, err := c.Must(ctx, "", "kubectl", "get", "pods", "-l=app", "-o=jsonpath={.items[*].spec.containers[*].image}")
		if err == nil && !strings.Contains(images, image) {
			err = fmt.Errorf("there are those of %q", images)
		}
		return err
	}))
}

const plainSpec = `containers: [{name: main, image: app}]`

// podCalls are Pods, and how many calls each causes.
var podCalls = map[string]struct {
	metadata, spec string
	calls          int
}{
	"a class":                       {"", "runtimeClassName: some, " + plainSpec, 1},
	"the annotation":                {`annotations: {io.kubernetes.cri.untrusted-workload: "true"}`, plainSpec, 1},
	"the annotation, not true":      {`annotations: {io.kubernetes.cri.untrusted-workload: "false"}`, plainSpec, 0},
	"a user namespace":              {"", "hostUsers: false, " + plainSpec, 1},
	"the host's users":              {"", "hostUsers: true, " + plainSpec, 0},
	"its own groups only":           {"", "securityContext: {supplementalGroupsPolicy: Strict}, " + plainSpec, 1},
	"groups as ever":                {"", "securityContext: {supplementalGroupsPolicy: Merge, runAsUser: 1}, " + plainSpec, 0},
	"devices":                       {"", "resourceClaims: [{name: gpu, resourceClaimName: gpu}], " + plainSpec, 1},
	"a read-only mount":             {"", mounting("Enabled", "containers"), 1},
	"a read-only mount in an init":  {"", mounting("Enabled", "initContainers") + ", " + plainSpec, 1},
	"a read-only mount if possible": {"", mounting("IfPossible", "containers"), 0},
}

func mounting(mode, containers string) string {
	return `volumes: [{name: v, emptyDir: {}}], ` + containers +
		`: [{name: mounts, image: app, volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b, readOnly: true, recursiveReadOnly: ` + mode + `}]}]`
}

// manyMounts has so many that the API server might find the condition too dear.
func manyMounts(containers, mounts int) string {
	var all []string
	for i := range containers {
		var each []string
		for j := range mounts {
			mode := "IfPossible"
			if i == containers-1 && j == mounts-1 {
				mode = "Enabled"
			}
			each = append(each, fmt.Sprintf("{name: v, mountPath: /%d, readOnly: true, recursiveReadOnly: %s}", j, mode))
		}
		all = append(all, fmt.Sprintf("{name: c%d, image: app, volumeMounts: [%s]}", i, strings.Join(each, ", ")))
	}
	return "volumes: [{name: v, emptyDir: {}}], containers: [" + strings.Join(all, ", ") + "]"
}

func pod(metadata, spec string) string {
	if metadata != "" {
		metadata = ", " + metadata
	}
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {generateName: pod-%s}, spec: {%s}}", metadata, spec)
}

// workload makes an object that makes Pods.
func workload(kind, name, spec string) string {
	group := map[string]string{"Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1", "PodTemplate": "v1"}[kind]
	if group == "" {
		group = "apps/v1"
	}
	if strings.HasSuffix(kind, "Job") || kind == "PodTemplate" {
		spec += ", restartPolicy: Never"
	}
	labels := fmt.Sprintf("{app: %s-%s}", strings.ToLower(kind), name)
	template := fmt.Sprintf("template: {metadata: {labels: %s}, spec: {%s}}", labels, spec)
	head := fmt.Sprintf("apiVersion: %s, kind: %s, metadata: {name: %s}", group, kind, name)
	switch kind {
	case "PodTemplate":
		return fmt.Sprintf("{%s, %s}", head, template)
	case "CronJob":
		return fmt.Sprintf("{%s, spec: {schedule: 0 3 * * *, jobTemplate: {spec: {%s}}}}", head, template)
	case "Job":
		return fmt.Sprintf("{%s, spec: {%s}}", head, template)
	case "ReplicationController":
		return fmt.Sprintf("{%s, spec: {selector: %s, %s}}", head, labels, template)
	}
	return fmt.Sprintf("{%s, spec: {selector: {matchLabels: %s}, %s}}", head, labels, template)
}

func createPlainPods(t *testing.T, client kubernetes.Interface, n int) {
	t.Helper()
	plain := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "plain-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "app"}}},
	}
	var group errgroup.Group
	group.SetLimit(8)
	for range n {
		group.Go(func() error {
			_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(interrupted, plain, metav1.CreateOptions{})
			return err
		})
	}
	must(t, group.Wait())
}

// A caller makes objects and counts the calls of webhooks that they cause.
// kubectl would need some tenths of a second for each.
type caller struct{ client kubernetes.Interface }

func newCaller(t *testing.T, c *harness.Cluster) *caller {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	must(t, err)
	config.QPS = -1 // no limit
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return &caller{client}
}

// create makes an object of a namespaced kind whose plural ends with s.
func (a *caller) create(t *testing.T, manifest string) {
	t.Helper()
	var kind metav1.TypeMeta
	must(t, yaml.Unmarshal([]byte(manifest), &kind))
	body, err := yaml.YAMLToJSON([]byte(manifest))
	must(t, err)
	prefix := "/apis/"
	if kind.APIVersion == "v1" {
		prefix = "/api/"
	}
	path := prefix + kind.APIVersion + "/namespaces/default/" + strings.ToLower(kind.Kind) + "s"
	must(t, a.client.CoreV1().RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(interrupted).Error())
}

// expect counts the calls of a webhook that something causes.
func (a *caller) expect(t *testing.T, hook string, want int, do func()) {
	t.Helper()
	before := a.calls(t, hook)
	do()
	if got := a.calls(t, hook) - before; got != want {
		t.Errorf("%s: %d calls, want %d", hook, got, want)
	}
}

func (a *caller) calls(t *testing.T, hook string) int {
	t.Helper()
	return a.metric(t, "apiserver_admission_webhook_request_total", hook)
}

// metric sums what the API server counts under a name: for one webhook, or for
// all if that is "".
func (a *caller) metric(t *testing.T, name, hook string) int {
	t.Helper()
	text, err := a.client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(interrupted)
	must(t, err)
	sum := 0
	for _, sample := range regexp.MustCompile(`(?m)^`+name+`\{(.*)\} (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		if hook == "" || strings.Contains(sample[1], fmt.Sprintf("name=%q", hook)) {
			n, err := strconv.Atoi(sample[2])
			must(t, err)
			sum += n
		}
	}
	return sum
}
