package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// lintState is a cluster of one node, with 4 CPUs, that has runc and nvidia.
func lintState(t *testing.T) *State {
	t.Helper()
	state := NewState(Options{Inventory: inventory.DefaultOptions, ClassMissing: Warn, MaxAction: Deny})
	report := &v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	report.Spec.RenewedAt = metav1.NewTime(reportNow.Add(-time.Minute))
	report.Spec.Handlers = []v1alpha1.Handler{{Name: "nvidia"}, {Name: "runc"}}
	for _, object := range []runtime.Object{
		&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n1", CreationTimestamp: metav1.NewTime(reportNow.Add(-time.Hour)), Labels: map[string]string{"pool": "gpu"}},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("10"),
			}},
		},
		report,
		&nodev1.RuntimeClass{
			ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Handler: "nvidia",
			Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"pool": "gpu"}},
			Overhead:   &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		},
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Handler: "kata"},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
	} {
		if err := state.Apply(object); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

func podOf(class string, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	if class != "" {
		pod.Spec.RuntimeClassName = &class
	}
	if change != nil {
		change(pod)
	}
	return pod
}

func limit(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
}

func TestGateJudgesNewPods(t *testing.T) {
	tests := map[string]struct {
		pod    *corev1.Pod
		want   Action
		reason Condition
		text   string
	}{
		"its handler is loaded":                {podOf("gpu", nil), Allow, "", ""},
		"its handler is missing":               {podOf("kata", nil), Deny, Missing, `handler "kata"`},
		"its limit fits":                       {podOf("gpu", limit("3")), Allow, "", ""},
		"its limit leaves no room for the sum": {podOf("gpu", limit("3500m")), Warn, "", "fits no node with the overhead of its RuntimeClass; without it would fit n1"},
		"requests count where there are any": {podOf("gpu", func(p *corev1.Pod) {
			limit("8")(p)
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		}), Allow, "", ""},
		"the class is not there": {podOf("nvidia", nil), Deny, Rejected, `"nvidia" is the handler of RuntimeClass "gpu": use that name`},
		"the selector conflicts": {podOf("gpu", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": "cpu"} }),
			Deny, Rejected, "the API server rejects the Pod: nodeSelector pool=cpu conflicts"},
		"overhead without a class": {podOf("", func(p *corev1.Pod) {
			p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		}),
			Deny, Rejected, "overhead is set without a RuntimeClass"},
		"overhead merged already": {podOf("gpu", func(p *corev1.Pod) {
			p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m")}
		}), Allow, "", ""},
		"no class": {podOf("", nil), Allow, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := tt.pod.DeepCopy()
			got := lintState(t).Gate(reportNow).NewPod(context.Background(), "default", tt.pod)
			if got.Action() != tt.want || !strings.Contains(got.Message(), tt.text) {
				t.Errorf("%s: %s; want %s: %s", got.Action(), got.Message(), tt.want, tt.text)
			}
			if tt.reason != "" && got.Findings[0].Condition != tt.reason {
				t.Errorf("condition %s, want %s", got.Findings[0].Condition, tt.reason)
			}
			if before.String() != tt.pod.String() {
				t.Error("the Pod was changed")
			}
		})
	}
}

// TestRejectedIsNotCapped: what the API server does no flag of runtimegate can
// soften.
func TestRejectedIsNotCapped(t *testing.T) {
	state := lintState(t)
	state.options.MaxAction = Audit
	gate := state.Gate(reportNow)
	for class, want := range map[string]Action{"absent": Deny, "kata": Audit} {
		if got := gate.NewPod(context.Background(), "default", podOf(class, nil)); got.Action() != want {
			t.Errorf("class %q: %s, want %s", class, got.Action(), want)
		}
	}
}

func TestGateJudge(t *testing.T) {
	kata := corev1.PodTemplateSpec{Spec: podOf("kata", nil).Spec}
	plain := corev1.PodTemplateSpec{Spec: podOf("", nil).Spec}
	yes, no, enabled, strict := true, false, corev1.RecursiveReadOnlyEnabled, corev1.SupplementalGroupsPolicyStrict
	tests := map[string]struct {
		object    runtime.Object
		want      Action
		concerned bool
	}{
		"Pod":                   {podOf("kata", nil), Deny, true},
		"Pod of no class":       {podOf("", nil), Allow, false},
		"RuntimeClass":          {&nodev1.RuntimeClass{Handler: "nvidia"}, Allow, true},
		"Deployment":            {&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: kata}}, Warn, true},
		"ReplicaSet":            {&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: kata}}, Warn, true},
		"StatefulSet":           {&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: kata}}, Warn, true},
		"DaemonSet":             {&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: kata}}, Warn, true},
		"Job":                   {&batchv1.Job{Spec: batchv1.JobSpec{Template: kata}}, Warn, true},
		"CronJob":               {&batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: kata}}}}, Warn, true},
		"ReplicationController": {&corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Template: &kata}}, Warn, true},
		"one without template":  {&corev1.ReplicationController{}, Allow, false},
		"PodTemplate":           {&corev1.PodTemplate{Template: kata}, Warn, true},
		"template of no class":  {&corev1.PodTemplate{Template: plain}, Allow, false},
		"another kind":          {&corev1.ConfigMap{}, Allow, false},
		"user namespace":        {podOf("", func(p *corev1.Pod) { p.Spec.HostUsers = &no }), Allow, true},
		"none":                  {podOf("", func(p *corev1.Pod) { p.Spec.HostUsers = &yes }), Allow, false},
		"recursive mount": {podOf("", func(p *corev1.Pod) {
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{RecursiveReadOnly: &enabled}}
		}), Allow, true},
		"strict groups": {podOf("", func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroupsPolicy: &strict}
		}), Allow, true},
		"resource claims": {podOf("", func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }), Allow, true},
		"the annotation":  {podOf("", func(p *corev1.Pod) { p.Annotations = map[string]string{UntrustedAnnotation: "true"} }), Warn, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, concerned := lintState(t).Gate(reportNow).Judge(context.Background(), "default", tt.object)
			if got.Action() != tt.want || concerned != tt.concerned {
				t.Errorf("%s, concerned %t; want %s, %t\n%s", got.Action(), concerned, tt.want, tt.concerned, got.Message())
			}
		})
	}
}

func TestStateRules(t *testing.T) {
	no := false
	policy := &v1alpha1.RuntimePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.RuntimePolicySpec{
		NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "research"}},
		Handlers:          &v1alpha1.AllowedHandlers{AllowDefault: &no},
	}}
	research := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "research"}}
	unknown := errors.New("forbidden")
	tests := map[string]struct {
		objects  []runtime.Object
		change   func(*State)
		want     Action
		contains string
	}{
		"the policy is for it":           {[]runtime.Object{policy, research}, nil, Deny, "is required"},
		"no policy":                      {nil, nil, Allow, ""},
		"no such namespace":              {[]runtime.Object{policy}, nil, Warn, "there is no such Namespace"},
		"namespaces unknown":             {[]runtime.Object{policy}, func(s *State) { s.NamespacesUnknown = unknown }, Warn, "forbidden"},
		"namespaces unknown, not needed": {nil, func(s *State) { s.NamespacesUnknown = unknown }, Allow, ""},
		"its namespace is known":         {[]runtime.Object{policy, research}, func(s *State) { s.NamespacesUnknown = unknown }, Deny, "is required"},
		"policies unknown":               {[]runtime.Object{research}, func(s *State) { s.PoliciesUnknown = unknown }, Warn, "forbidden"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			state := lintState(t)
			for _, object := range tt.objects {
				if err := state.Apply(object); err != nil {
					t.Fatal(err)
				}
			}
			if tt.change != nil {
				tt.change(state)
			}
			got := state.Gate(reportNow).NewPod(context.Background(), "research", podOf("", nil))
			if got.Action() != tt.want || !strings.Contains(got.Message(), tt.contains) {
				t.Errorf("%s: %s; want %s: %s", got.Action(), got.Message(), tt.want, tt.contains)
			}
		})
	}
}

func TestStateReplaces(t *testing.T) {
	state := lintState(t)
	bad := &v1alpha1.RuntimePolicy{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, Spec: v1alpha1.RuntimePolicySpec{Actions: map[string]v1alpha1.Action{"Mising": v1alpha1.ActionDeny}}}
	if err := state.Apply(bad); err == nil || len(state.policies) != 0 {
		t.Errorf("error %v, %d policies", err, len(state.policies))
	}
	if err := state.Apply(&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Handler: "nvidia"}); err != nil {
		t.Fatal(err)
	}
	if got := state.Gate(reportNow).NewPod(context.Background(), "default", podOf("kata", nil)); got.Action() != Allow {
		t.Errorf("judged by the class before: %s", got.Message())
	}
	if state.ClassCount() != 2 || state.NodeCount() != 1 {
		t.Errorf("%d classes, %d nodes", state.ClassCount(), state.NodeCount())
	}
	for now, want := range map[time.Time]int{reportNow: 0, reportNow.Add(time.Hour): 1} {
		if stale, all := state.StaleReports(now); stale != want || all != 1 {
			t.Errorf("%d of %d reports stale, want %d", stale, all, want)
		}
	}
}
