package webhook

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A Policy is a RuntimePolicy made ready to be asked.
type Policy struct {
	Name     string
	selector labels.Selector
	// limits: only handlers that match one of allowed may be used.
	limits       bool
	allowed      []string
	allowDefault bool
	actions      map[Condition]Action
}

// NewPolicy makes a RuntimePolicy ready. The error names the field at fault; the
// schema refuses all of these but a bad selector.
func NewPolicy(object *v1alpha1.RuntimePolicy) (*Policy, error) {
	selector, err := metav1.LabelSelectorAsSelector(&object.Spec.NamespaceSelector)
	if err != nil {
		return nil, fmt.Errorf("RuntimePolicy %q: spec.namespaceSelector: %w", object.Name, err)
	}
	p := &Policy{Name: object.Name, selector: selector, allowDefault: true, actions: map[Condition]Action{}}
	if handlers := object.Spec.Handlers; handlers != nil {
		// No list at all is no limit; an empty object with allowDefault false
		// asks for a class only.
		p.limits, p.allowed = handlers.Allowed != nil, handlers.Allowed
		p.allowDefault = handlers.AllowDefault == nil || *handlers.AllowDefault
	}
	for _, pattern := range p.allowed {
		if !patternSyntax.MatchString(pattern) {
			return nil, fmt.Errorf("RuntimePolicy %q: spec.handlers.allowed: %q is no pattern", object.Name, pattern)
		}
	}
	for name, value := range object.Spec.Actions {
		condition, action := Condition(name), parseAction(string(value))
		if !slices.Contains(policyConditions, condition) {
			return nil, fmt.Errorf("RuntimePolicy %q: spec.actions: there is no condition %q", object.Name, name)
		}
		if action < 0 {
			return nil, fmt.Errorf("RuntimePolicy %q: spec.actions[%s]: there is no action %q", object.Name, name, value)
		}
		p.actions[condition] = action
	}
	return p, nil
}

// patternSyntax is that of the CRD's schema.
var patternSyntax = regexp.MustCompile(`^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$`)

// selectsByName says whether the name of a namespace is enough to tell if the
// policy selects it.
func (p *Policy) selectsByName() bool {
	requirements, selectable := p.selector.Requirements()
	return !selectable || !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return r.Key() != corev1.LabelMetadataName })
}

// parseAction returns the action of that name, -1 if there is none.
func parseAction(name string) Action {
	for action := Allow; action <= Deny; action++ {
		if action.String() == name {
			return action
		}
	}
	return -1
}

func (p *Policy) allows(handler string) bool {
	if !p.limits {
		return true
	}
	return slices.ContainsFunc(p.allowed, func(pattern string) bool {
		// A handler is a DNS label, so that no "/" stops a *.
		ok, _ := path.Match(pattern, handler)
		return ok
	})
}

// Rules are what the policies of one namespace say together.
type Rules struct {
	policies []*Policy
	// unsure are others, of which it is not known whether they are for the namespace.
	unsure []*Policy
}

// RulesFor returns the rules of a namespace with those labels.
func RulesFor(policies []*Policy, namespace labels.Set) Rules {
	var rules Rules
	for _, p := range policies {
		if p.selector.Matches(namespace) {
			rules.policies = append(rules.policies, p)
		}
	}
	slices.SortFunc(rules.policies, func(a, b *Policy) int { return cmp.Compare(a.Name, b.Name) })
	return rules
}

// rulesByName returns the rules of a namespace of which only the name is known. sure:
// they are all its rules.
func rulesByName(policies []*Policy, name string) (rules Rules, sure bool) {
	var known, unsure []*Policy
	for _, p := range policies {
		if p.selectsByName() {
			known = append(known, p)
		} else {
			unsure = append(unsure, p)
		}
	}
	rules = RulesFor(known, labels.Set{corev1.LabelMetadataName: name})
	rules.unsure = unsure
	return rules, len(unsure) == 0
}

// Action is what is done about a condition: the strictest that a policy names,
// else the built-in one. That denies nothing if it may be that a policy has made
// less of it.
func (r Rules) Action(condition Condition) Action {
	strictest, named := Allow, false
	for _, p := range r.policies {
		if action, ok := p.actions[condition]; ok {
			strictest, named = max(strictest, action), true
		}
	}
	if named {
		return strictest
	}
	action := builtinAction(condition)
	if slices.ContainsFunc(r.unsure, func(p *Policy) bool { milder, ok := p.actions[condition]; return ok && milder < action }) {
		return min(action, Warn)
	}
	return action
}

// Forbids returns the first policy, by name, that does not allow the handler.
func (r Rules) Forbids(handler string) *Policy {
	for _, p := range r.policies {
		if !p.allows(handler) {
			return p
		}
	}
	return nil
}

// ForbidsDefault returns the first policy, by name, that asks for a
// RuntimeClass.
func (r Rules) ForbidsDefault() *Policy {
	for _, p := range r.policies {
		if !p.allowDefault {
			return p
		}
	}
	return nil
}
