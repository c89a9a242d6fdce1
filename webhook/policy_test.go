package webhook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// policy makes a RuntimePolicy ready from its name and the YAML of its spec.
func policy(t *testing.T, name, spec string) *Policy {
	t.Helper()
	object := &v1alpha1.RuntimePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &object.Spec); err != nil {
		t.Fatal(err)
	}
	p, err := NewPolicy(object)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPolicies(t *testing.T) {
	const (
		gpu       = `{namespaceSelector: {matchLabels: {tenant: gpu}}, handlers: {allowed: ["nvidia*"]}}`
		sandboxed = `{namespaceSelector: {}, handlers: {allowed: [gvisor, nvidia], allowDefault: false}}`
		strict    = `{namespaceSelector: {}, actions: {Partial: Deny, Missing: Warn}}`
		lax       = `{namespaceSelector: {}, actions: {Partial: Audit, Missing: Allow, Forbidden: Warn}}`
		nothing   = `{namespaceSelector: {}, handlers: {allowed: []}}`
	)
	missing := inventory.Coverage{Lacks: some("n1", "n2")}
	partial := inventory.Coverage{Has: some("n1"), Lacks: some("n2")}
	loaded := inventory.Coverage{Has: some("n1")}
	tests := []struct {
		name     string
		policies map[string]string
		tenant   string
		handler  string // "": the default handler
		coverage inventory.Coverage
		lenient  Leniency
		want     []string
	}{
		{"no policy", nil, "gpu", "kata", loaded, Strict, nil},
		{"an allowed handler", map[string]string{"gpu": gpu}, "gpu", "nvidia-cdi", loaded, Strict, nil},
		{"one that is not", map[string]string{"gpu": gpu}, "gpu", "kata", loaded, Strict, []string{
			`Deny Forbidden handler "kata" (RuntimeClass "kata") is not allowed in this namespace by RuntimePolicy "gpu"; allowed: nvidia*`}},
		{"in another tenant's namespace", map[string]string{"gpu": gpu}, "web", "kata", loaded, Strict, nil},
		{"the default handler is allowed unless it is said", map[string]string{"gpu": gpu}, "gpu", "", loaded, Strict, nil},
		{"a class is required", map[string]string{"box": sandboxed}, "gpu", "", loaded, Strict, []string{
			`Deny Forbidden a runtimeClassName is required in this namespace by RuntimePolicy "box"; allowed handlers: gvisor, nvidia`}},
		{"all policies must allow", map[string]string{"box": sandboxed, "gpu": gpu}, "gpu", "nvidia-cdi", loaded, Strict, []string{
			`Deny Forbidden handler "nvidia-cdi" (RuntimeClass "nvidia-cdi") is not allowed in this namespace by RuntimePolicy "box"; allowed: gvisor, nvidia`}},
		{"an empty list allows none", map[string]string{"none": nothing}, "gpu", "kata", loaded, Strict, []string{
			`Deny Forbidden handler "kata" (RuntimeClass "kata") is not allowed in this namespace by RuntimePolicy "none"; it allows no handler`}},
		{"leniency never opens a policy", map[string]string{"gpu": gpu}, "gpu", "kata", missing, OfDaemonSet, []string{
			`Deny Forbidden handler "kata" (RuntimeClass "kata") is not allowed in this namespace by RuntimePolicy "gpu"; allowed: nvidia*`,
			`Warn Missing handler "kata" (RuntimeClass "kata") is loaded on none of the 2 nodes this Pod may land on`}},
		{"an action of a policy", map[string]string{"strict": strict}, "gpu", "kata", partial, Strict, []string{
			`Deny Partial handler "kata" (RuntimeClass "kata") is loaded on 1 of the 2 nodes this Pod may land on; has it: n1; lacks it: n2; add a nodeSelector for nodes that have it`}},
		{"the strictest action of several", map[string]string{"strict": strict, "lax": lax}, "gpu", "kata", missing, Strict, []string{
			`Warn Missing handler "kata" (RuntimeClass "kata") is loaded on none of the 2 nodes this Pod may land on`}},
		{"an action more lenient than the built-in one", map[string]string{"lax": lax, "gpu": gpu}, "gpu", "kata", loaded, Strict, []string{
			`Warn Forbidden handler "kata" (RuntimeClass "kata") is not allowed in this namespace by RuntimePolicy "gpu"; allowed: nvidia*`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var all []*Policy
			for name, spec := range tt.policies {
				all = append(all, policy(t, name, spec))
			}
			pod := asks(tt.handler, tt.coverage)
			pod.Rules, pod.Lenient = RulesFor(all, labels.Set{"tenant": tt.tenant}), tt.lenient
			if diff := cmp.Diff(tt.want, tell(JudgePod(pod))); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewPolicyRefuses(t *testing.T) {
	tests := map[string]v1alpha1.RuntimePolicySpec{
		"spec.namespaceSelector":                             {NamespaceSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}},
		`spec.actions: there is no condition "Mising"`:       {Actions: map[string]v1alpha1.Action{"Mising": "Deny"}},
		`spec.actions[Missing]: there is no action "Denied"`: {Actions: map[string]v1alpha1.Action{"Missing": "Denied"}},
		`spec.handlers.allowed: "[" is no pattern`:           {Handlers: &v1alpha1.AllowedHandlers{Allowed: []string{"["}}},
	}
	for want, spec := range tests {
		_, err := NewPolicy(&v1alpha1.RuntimePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: spec})
		if err == nil || !strings.HasPrefix(err.Error(), `RuntimePolicy "p": `) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
