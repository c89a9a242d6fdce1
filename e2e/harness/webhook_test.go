package harness

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// hooks reads the manifest of a scope.
func hooks(t *testing.T, scope Scope) []admissionregistrationv1.ValidatingWebhook {
	t.Helper()
	manifest, err := webhookFor("127.0.0.1:9443", scope)
	if err != nil {
		t.Fatal(err)
	}
	object := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict([]byte(manifest), object); err != nil {
		t.Fatal(err)
	}
	return object.Webhooks
}

// conditions lists the match conditions of all webhooks.
func conditions(hooks []admissionregistrationv1.ValidatingWebhook) (names []string) {
	for _, hook := range hooks {
		for _, c := range hook.MatchConditions {
			names = append(names, hook.Name+" "+c.Name)
		}
	}
	return names
}

func TestScopeAllDropsTheConditionsOnHandlersOnly(t *testing.T) {
	some := conditions(hooks(t, ScopeHandlers))
	want := slices.DeleteFunc(slices.Clone(some), func(name string) bool { return strings.HasSuffix(name, " "+needsAHandler) })
	if got := conditions(hooks(t, ScopeAll)); !slices.Equal(got, want) || len(want) != len(some)-2 {
		t.Errorf("got %q of %q, want those of Pods and of workloads gone", got, some)
	}
	if _, err := webhookFor("", "Some"); err == nil {
		t.Error("a scope that is none is taken")
	}
}

// A template is asked about for what its Pods would be asked about for.
func TestPodsAndTemplatesNeedTheSame(t *testing.T) {
	var needs []string
	for _, hook := range hooks(t, ScopeHandlers) {
		for _, c := range hook.MatchConditions {
			if c.Name == needsAHandler {
				_, need, _ := strings.Cut(c.Expression, ".exists(t,")
				needs = append(needs, need)
			}
		}
	}
	if len(needs) != 2 || needs[0] == "" || needs[0] != needs[1] {
		t.Errorf("got %q", needs)
	}
}
