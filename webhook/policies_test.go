package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// While the labels of a namespace can't be read, the policies that are for it whatever
// they are go on; and nothing is denied of which a policy that may be for it makes less.
func TestRulesOfANamespaceThatCannotBeRead(t *testing.T) {
	const (
		runcOnly   = `{namespaceSelector: {}, handlers: {allowed: [runc]}}`
		runcByName = `{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ml}}, handlers: {allowed: [runc]}}`
		elsewhere  = `{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: web}}, handlers: {allowed: [runc]}}`
		runcByTeam = `{namespaceSelector: {matchLabels: {team: a}}, handlers: {allowed: [runc]}}`
		mild       = `{namespaceSelector: {matchLabels: {team: a}}, actions: {Missing: Warn}}`
		mildest    = `{namespaceSelector: {matchLabels: {team: a}}, actions: {Missing: Allow, Forbidden: Allow}}`
		harsh      = `{namespaceSelector: {matchLabels: {team: a}}, actions: {Missing: Deny, Partial: Deny}}`
		harshToAll = `{namespaceSelector: {}, actions: {Missing: Deny}}`
	)
	const missing, forbidden, unknown = `is not loaded on n1`, `is not allowed in this namespace`, `not all RuntimePolicies of namespace "ml" are known`
	tests := map[string]struct {
		policies []string
		class    string
		want     Action
		says     []string
	}{
		"no policy, nobody asks":                  {nil, "typo", Deny, []string{missing}},
		"a policy of all namespaces":              {[]string{runcOnly}, "gvisor", Deny, []string{forbidden}},
		"a policy of that name's":                 {[]string{runcByName}, "gvisor", Deny, []string{forbidden}},
		"a policy of another name's":              {[]string{elsewhere}, "runc", Allow, nil},
		"a policy that may be for it":             {[]string{runcByTeam}, "runc", Warn, []string{unknown}},
		"it may make less of the handler's lack":  {[]string{mild}, "typo", Warn, []string{missing, unknown}},
		"it may make nothing of it":               {[]string{mildest}, "typo", Warn, []string{missing, unknown}},
		"nor of what another one forbids":         {[]string{mildest, runcOnly}, "typo", Warn, []string{missing, forbidden, unknown}},
		"it can only make more of it":             {[]string{harsh}, "typo", Deny, []string{missing, unknown}},
		"it may make less, one for all denies it": {[]string{mild, harshToAll}, "typo", Deny, []string{missing, unknown}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			asked := 0
			rules := newPolicies(discard, func(context.Context, string) (labels.Set, error) {
				asked++
				return nil, errors.New("context deadline exceeded")
			})
			for i, spec := range tt.policies {
				rules.set(policyObject(t, string(rune('a'+i)), spec))
			}
			gate := gateFor(onePlainNode(), map[string]string{"runc": "runc", "typo": "rnuc", "gvisor": "gvisor"})
			gate.Rules = rules.rules
			lives := 0
			live := gate.LiveClass
			gate.LiveClass = func(ctx context.Context, name string) (*nodev1.RuntimeClass, error) {
				lives++
				return live(ctx, name)
			}
			verdict := gate.Pod(t.Context(), "ml", podNamed("ml", "p", tt.class))
			told := strings.Join(tell(verdict), "\n")
			if verdict.Action() != tt.want || len(verdict.Findings) < len(tt.says) {
				t.Errorf("%s; want %s:\n%s", verdict.Action(), tt.want, told)
			}
			for _, text := range tt.says {
				if !strings.Contains(told, text) {
					t.Errorf("got\n%s\nwithout %q", told, text)
				}
			}
			// Each may take almost a second, of the three that the API server waits.
			if asked > 1 || lives > 1 {
				t.Errorf("asked %d times for the namespace, and %d times for the class live", asked, lives)
			}
		})
	}
}
