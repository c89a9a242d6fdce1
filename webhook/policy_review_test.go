package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// threeNamespaces are those of the tests: two tenants and the system.
func threeNamespaces(context.Context) (map[string]labels.Set, error) {
	return map[string]labels.Set{"ml": {"tenant": "ml"}, "web": {"tenant": "web"}, "kube-system": {}}, nil
}

// handlerClasses finds a class for every name, of the handler of that name.
func handlerClasses(_ context.Context, name string) (*nodev1.RuntimeClass, error) {
	return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Handler: name}, nil
}

// policyReviewer reviews in a cluster with a node that has runc, and a tainted
// one that has nvidia.
func policyReviewer(live Lister, enforced ...*Policy) *PolicyReviewer {
	gate := &Gate{
		Index: andTaintedGPUNode(onePlainNode()), Class: handlerClasses, Classes: noClasses, MaxAction: Deny,
		LiveClass: func(context.Context, string) (*nodev1.RuntimeClass, error) { panic("asked live") },
		Now:       func() time.Time { return reportNow },
	}
	return &PolicyReviewer{
		Gate: gate, Live: live, Scope: ScopeAll, Exempt: []string{"kube-system"},
		Policies: func() []*Policy { return enforced }, Namespaces: threeNamespaces, Decided: undecided,
	}
}

// policyObject is a RuntimePolicy with a spec in YAML.
func policyObject(t *testing.T, name, spec string) *v1alpha1.RuntimePolicy {
	t.Helper()
	object := &v1alpha1.RuntimePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &object.Spec); err != nil {
		t.Fatal(err)
	}
	return object
}

// ofReplicaSet makes a Pod one of a Deployment's.
func ofReplicaSet(pod *corev1.Pod, deployment string) *corev1.Pod {
	controller := true
	pod.Labels = map[string]string{"pod-template-hash": "7d9f"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment + "-7d9f", Controller: &controller}}
	return pod
}

func controlledBy(pod *corev1.Pod, apiVersion, kind, name string) *corev1.Pod {
	controller := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, Controller: &controller}}
	return pod
}

func TestPolicyWarnings(t *testing.T) {
	const (
		onlyRunc   = `{namespaceSelector: {matchLabels: {tenant: ml}}, handlers: {allowed: [runc]}}`
		runcAll    = `{namespaceSelector: {}, handlers: {allowed: [runc]}}`
		required   = `{namespaceSelector: {}, handlers: {allowDefault: false}}`
		denyAll    = `{namespaceSelector: {}, actions: {Missing: Deny, Partial: Deny, Unknown: Deny}}`
		forbidHard = `{namespaceSelector: {}, actions: {Forbidden: Deny}}`
	)
	forbidSoft := policy(t, "soft", `{namespaceSelector: {}, handlers: {allowed: [runc]}, actions: {Forbidden: Warn}}`)
	other := policy(t, "a-other", onlyRunc)
	var fifty []client.Object
	for i := range 50 {
		fifty = append(fifty, ofReplicaSet(podNamed("ml", fmt.Sprintf("api-7d9f-%d", i), "kata"), "api"))
	}
	deployment := func(name string, template corev1.PodTemplateSpec) client.Object {
		return &appsv1.Deployment{ObjectMeta: inML(name), Spec: appsv1.DeploymentSpec{Template: template}}
	}
	cron := &batchv1.CronJob{ObjectMeta: inML("cron")}
	cron.Spec.JobTemplate.Spec.Template = templateFor("kata")
	cron.Status.Active = []corev1.ObjectReference{{Name: "cron-28"}}
	var tolerating corev1.PodTemplateSpec
	tolerating.Spec = corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}
	nvidia := "nvidia"
	tolerating.Spec.RuntimeClassName = &nvidia
	var manyHandlers []client.Object
	for i := range 7 {
		manyHandlers = append(manyHandlers, podNamed("ml", "p", fmt.Sprintf("h%d", i)))
	}
	const tail = "; what runs keeps running, what is made anew is denied"

	tests := []struct {
		name    string
		spec    string
		objects []client.Object
		change  func(*PolicyReviewer)
		want    []string
	}{
		{"nothing there", onlyRunc, nil, nil, nil},
		{"what is there is allowed", onlyRunc, []client.Object{podNamed("ml", "a", "runc"), podNamed("ml", "b", "")}, nil, nil},
		{"a Pod of a handler that is not allowed", onlyRunc, []client.Object{podNamed("ml", "a", "kata")}, nil, []string{
			`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "kata" is not allowed (ml/a)` + tail}},
		{"Pods of a workload count once, and with its template", onlyRunc, append(fifty, deployment("api", templateFor("kata"))), nil, []string{
			`RuntimePolicy "p" would deny 1 workload (50 Pods) in 1 namespace: handler "kata" is not allowed (ml/api)` + tail}},
		{"a workload with no Pods counts", onlyRunc, []client.Object{deployment("idle", templateFor("kata")), cron}, nil, []string{
			`RuntimePolicy "p" would deny 2 workloads in 1 namespace: handler "kata" is not allowed (ml/cron, ml/idle)` + tail}},
		{"a CronJob and its running Job count once", onlyRunc, []client.Object{controlledBy(podNamed("ml", "cron-28-x", "kata"), "batch/v1", "Job", "cron-28"), cron}, nil, []string{
			`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "kata" is not allowed (ml/cron)` + tail}},
		{"a Pod of a DaemonSet is let off nothing that is forbidden", onlyRunc, []client.Object{controlledBy(podNamed("ml", "d-1", "kata"), "apps/v1", "DaemonSet", "d")}, nil, []string{
			`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "kata" is not allowed (ml/d)` + tail}},
		{"but what its nodes lack", denyAll, []client.Object{
			controlledBy(podNamed("ml", "d-1", "nvidia"), "apps/v1", "DaemonSet", "d"),
			&appsv1.DaemonSet{ObjectMeta: inML("e"), Spec: appsv1.DaemonSetSpec{Template: tolerating}}}, nil, nil},
		{"static Pods count one by one", onlyRunc, []client.Object{controlledBy(podNamed("ml", "s-1", "kata"), "v1", "Node", "n1"), controlledBy(podNamed("ml", "s-2", "kata"), "v1", "Node", "n1")}, nil, []string{
			`RuntimePolicy "p" would deny 2 workloads (2 Pods) in 1 namespace: handler "kata" is not allowed (ml/s-1, ml/s-2)` + tail}},
		{"other namespaces do not count, nor do exempt ones", runcAll, []client.Object{podNamed("kube-system", "a", "kata"), podNamed("elsewhere", "a", "kata")}, nil, nil},
		{"a warning for each reason, the largest first", runcAll, []client.Object{podNamed("ml", "a", "kata"), podNamed("ml", "b", "nvidia"), podNamed("web", "b", "nvidia")}, nil, []string{
			`RuntimePolicy "p" would deny 2 workloads (2 Pods) in 2 namespaces: handler "nvidia" is not allowed (ml/b, web/b)` + tail,
			`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "kata" is not allowed (ml/a)` + tail}},
		{"not too many of them", runcAll, manyHandlers, nil, []string{
			`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "h0" is not allowed (ml/p)` + tail,
			`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "h1" is not allowed (ml/p)` + tail,
			`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "h2" is not allowed (ml/p)` + tail,
			`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "h3" is not allowed (ml/p)` + tail,
			`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "h4" is not allowed (ml/p)` + tail,
			`RuntimePolicy "p" would deny more for 2 other reasons`}},
		{"what is denied without it is not its doing", denyAll, []client.Object{podNamed("ml", "a", "kata")}, nil, nil},
		{"a condition that it denies, wherever the Pod has landed", denyAll, []client.Object{deployment("both", tolerating)}, nil, []string{
			`RuntimePolicy "p" would deny 1 workload in 1 namespace: handler "nvidia" is Partial, and actions.Partial is Deny (ml/both)` + tail}},
		{"what another policy forbids already", onlyRunc, []client.Object{podNamed("ml", "a", "kata")}, func(r *PolicyReviewer) {
			r.Policies = func() []*Policy { return []*Policy{other} }
		}, nil},
		{"the policy that it replaces does not count", onlyRunc, []client.Object{podNamed("ml", "a", "kata")}, func(r *PolicyReviewer) {
			r.Policies = func() []*Policy { return []*Policy{policy(t, "p", onlyRunc)} }
		}, []string{`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "kata" is not allowed (ml/a)` + tail}},
		{"it makes a denial of what another one warns of", forbidHard, []client.Object{podNamed("ml", "a", "kata")}, func(r *PolicyReviewer) {
			r.Policies = func() []*Policy { return []*Policy{forbidSoft} }
			r.Gate.Index = andTaintedGPUNode(onePlainNode())
		}, []string{`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: RuntimePolicy "soft" does not allow handler "kata", and actions.Forbidden is Deny (ml/a)` + tail}},
		{"a class is required", required, []client.Object{podNamed("ml", "a", ""), podNamed("ml", "b", "runc"), deployment("idle", corev1.PodTemplateSpec{})}, nil, []string{
			`RuntimePolicy "p" would deny 2 workloads (1 Pod) in 1 namespace: a RuntimeClass is required (ml/a, ml/idle)` + tail}},
		{"and the webhook is not asked", required, []client.Object{podNamed("ml", "a", "")}, func(r *PolicyReviewer) { r.Scope = ScopeClass }, []string{
			`RuntimePolicy "p": allowDefault: false is not enforced: the webhook is not asked about Pods without a RuntimeClass (set pods.scope to All: serve --pods-scope=All); it would then deny 1 workload (1 Pod)`}},
		{"a roll-out step by step", onlyRunc, []client.Object{podNamed("ml", "a", "kata")}, func(r *PolicyReviewer) { r.Gate.MaxAction = Audit }, []string{
			`RuntimePolicy "p" would deny 1 workload (1 Pod) in 1 namespace: handler "kata" is not allowed (ml/a)` + tail,
			`nothing is denied yet: runtimegate runs with --max-action=Audit`}},
		{"it selects no namespace", `{namespaceSelector: {matchLabels: {tenant: mi}}}`, nil, nil, []string{
			`RuntimePolicy "p" selects none of the 3 namespaces that there are now`}},
		{"more than can be looked at", onlyRunc, manyPods(4000, "ml", "kata"), nil, []string{
			`RuntimePolicy "p" would deny at least 3000 workloads (3000 Pods) in 1 namespace: handler "kata" is not allowed (ml/p-0000, ml/p-0001, ml/p-0002 and 2997 more); only the first 3000 objects were looked at` + tail}},
		{"none among the first", onlyRunc, manyPods(4000, "ml", "runc"), nil, []string{
			`RuntimePolicy "p" would deny none of the first 3000 objects; the others were not looked at`}},
		{"no right to list Pods", onlyRunc, nil, func(r *PolicyReviewer) {
			r.Live = &apiServer{fails: map[string]error{"Pod": errors.New("pods is forbidden")}}
		}, []string{`the effect of RuntimePolicy "p" on what there is now is not fully known: list pods: pods is forbidden`}},
		{"the namespaces are not known", onlyRunc, nil, func(r *PolicyReviewer) {
			r.Namespaces = func(context.Context) (map[string]labels.Set, error) { return nil, errors.New("no cache") }
		}, []string{`the effect of RuntimePolicy "p" on what there is now is not fully known: list namespaces: no cache`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, atOnce(func(t *testing.T) {
			reviewer := policyReviewer(&apiServer{objects: tt.objects})
			if tt.change != nil {
				tt.change(reviewer)
			}
			action, told := review(t, reviewer, admissionv1.Create, policyObject(t, "p", tt.spec), nil)
			if action == Deny {
				t.Fatalf("denied: %s", told)
			}
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), told); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			for _, warning := range strings.Split(told, "\n") {
				if len(warning) > MaxWarning {
					t.Errorf("%d bytes: %s", len(warning), warning)
				}
			}
		}))
	}
}

// The names are as long as they can be: the number is still in the first 120
// bytes.
func TestPolicyWarningOfLongNames(t *testing.T) {
	atOnce(testLongNames)(t)
}

func testLongNames(t *testing.T) {
	handler := strings.Repeat("h", 63)
	object := policyObject(t, strings.Repeat("p", 253), `{namespaceSelector: {}, handlers: {allowed: [runc]}}`)
	reviewer := policyReviewer(&apiServer{objects: manyPods(4000, "ml", handler)})
	_, told := review(t, reviewer, admissionv1.Create, object, nil)
	if at := strings.Index(told, "would deny at least 3000 workloads"); at < 0 || at > 80 || len(told) > MaxWarning {
		t.Errorf("%d: %s", len(told), told)
	}
	if !strings.Contains(told, handler) || !strings.Contains(told, "only the first 3000") {
		t.Error(told)
	}
}

func TestPolicyReviewerDecides(t *testing.T) {
	const good = `{namespaceSelector: {}, handlers: {allowed: [runc]}}`
	const bad = `{namespaceSelector: {matchLabels: {a: "not a label"}}}`
	tests := []struct {
		name      string
		operation admissionv1.Operation
		spec, old string
		want      Action
		text      string
	}{
		{"created", admissionv1.Create, good, "", Warn, "would deny"},
		{"a bad one", admissionv1.Create, bad, "", Deny, `RuntimePolicy "p": spec.namespaceSelector: `},
		{"changed", admissionv1.Update, good, `{namespaceSelector: {}}`, Warn, "would deny"},
		{"nothing of its spec has changed", admissionv1.Update, good, good, Allow, ""},
		{"made bad", admissionv1.Update, bad, good, Deny, "spec.namespaceSelector"},
		{"was bad, and loses a finalizer", admissionv1.Update, bad, bad, Allow, ""},
		{"mended", admissionv1.Update, good, bad, Warn, "would deny"},
		{"deleted", admissionv1.Delete, "{}", good, Allow, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, atOnce(func(t *testing.T) {
			reviewer := policyReviewer(&apiServer{objects: manyPods(1, "ml", "kata")})
			action, told := review(t, reviewer, tt.operation, policyObject(t, "p", tt.spec), policyObject(t, "p", tt.old))
			if action != tt.want || !strings.Contains(told, tt.text) {
				t.Errorf("%s %q; want %s with %q", action, told, tt.want, tt.text)
			}
		}))
	}
}

// Few namespaces are listed one by one, so that the bound is not used up by
// those of others.
func TestPolicyReviewerListsWhatIsSelected(t *testing.T) { atOnce(testListsSelected)(t) }

func testListsSelected(t *testing.T) {
	for spec, want := range map[string]string{
		`{namespaceSelector: {matchLabels: {tenant: web}}}`:                                               "web/Pod 500",
		`{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: Exists}]}}`: "/Pod 500",
	} {
		live := &apiServer{}
		reviewer := policyReviewer(live)
		reviewer.Namespaces = func(context.Context) (map[string]labels.Set, error) {
			sets := map[string]labels.Set{"web": {"tenant": "web"}}
			for i := range maxListedNamespaces {
				sets[fmt.Sprintf("n%d", i)] = labels.Set{"kubernetes.io/metadata.name": "n"}
			}
			sets["web"]["kubernetes.io/metadata.name"] = "web"
			return sets, nil
		}
		review(t, reviewer, admissionv1.Create, policyObject(t, "p", spec), nil)
		if !slices.Contains(live.asked, want) || len(live.asked) != len(surveyed) {
			t.Errorf("%s: asked %q, want %q", spec, live.asked, want)
		}
	}
}

// The Pods of a large workload are alike, so that they are judged once: each
// judgement looks at all nodes.
func TestPolicyReviewerJudgesAlikePodsOnce(t *testing.T) {
	atOnce(testJudgesOnce)(t)
}

func testJudgesOnce(t *testing.T) {
	reviewer := policyReviewer(&apiServer{objects: manyPods(1000, "ml", "kata")})
	judged := 0
	reviewer.Gate.Now = func() time.Time { judged++; return reportNow }
	review(t, reviewer, admissionv1.Create, policyObject(t, "p", `{namespaceSelector: {}, handlers: {allowed: [runc]}}`), nil)
	if judged > 4 {
		t.Errorf("judged %d times", judged)
	}
}
