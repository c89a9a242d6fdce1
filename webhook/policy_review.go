package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

const (
	// maxListedNamespaces is how many namespaces a survey lists one by one; of
	// more it lists all Pods of the cluster, which takes fewer requests.
	maxListedNamespaces = 4
	// maxReasons is how many reasons get a warning of their own: the API server
	// keeps 4096 bytes of all warnings of a request (kubernetes 1.37).
	maxReasons = 5
)

// A PolicyReviewer reviews RuntimePolicies as they are created and as their spec
// changes. It denies one that could not be enforced, and warns of what an
// enforced one would deny now. It has no side effects, so that a dry run tells
// the same.
type PolicyReviewer struct {
	Gate *Gate
	// Policies are those that are enforced.
	Policies func() []*Policy
	// Namespaces are the labels of all namespaces, by their name.
	Namespaces func(ctx context.Context) (map[string]labels.Set, error)
	// Live lists what there is.
	Live Lister
	// Scope says about which Pods the webhook is asked.
	Scope PodsScope
	// Exempt are the namespaces that the webhook is not asked about.
	Exempt []string
	// Decided is told of each decision.
	Decided func(*admissionv1.AdmissionRequest, Verdict)
}

// Review implements Reviewer.
func (r *PolicyReviewer) Review(ctx context.Context, req *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	if err := wantKind(req, v1alpha1.GroupVersion.WithKind("RuntimePolicy")); err != nil {
		return nil, err
	}
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update || req.SubResource != "" {
		return &admissionv1.AdmissionResponse{Allowed: true}, nil
	}
	object, old := &v1alpha1.RuntimePolicy{}, &v1alpha1.RuntimePolicy{}
	if err := json.Unmarshal(req.Object.Raw, object); err != nil {
		return nil, fmt.Errorf("decode RuntimePolicy %q: %w", req.Name, err)
	}
	if req.Operation == admissionv1.Update {
		if err := json.Unmarshal(req.OldObject.Raw, old); err != nil {
			return nil, fmt.Errorf("decode old RuntimePolicy %q: %w", req.Name, err)
		}
		// Also of a bad one: its finalizers must go when it is deleted.
		if equality.Semantic.DeepEqual(object.Spec, old.Spec) {
			return &admissionv1.AdmissionResponse{Allowed: true}, nil
		}
	}
	policy, err := NewPolicy(object)
	if err != nil {
		r.Decided(req, Verdict{[]Finding{{Condition: invalid, Action: Deny}}})
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    http.StatusUnprocessableEntity,
			Reason:  metav1.StatusReasonInvalid,
			Message: printable(err.Error()),
		}}, nil
	}
	verdict, response := warn(effective, r.warnings(ctx, policy))
	r.Decided(req, verdict)
	return response, nil
}

// warnings tell what a policy would do to what there is.
func (r *PolicyReviewer) warnings(ctx context.Context, policy *Policy) []string {
	namespaces, err := r.Namespaces(ctx)
	if err != nil {
		return append(r.unenforced(policy, nil), r.unknown(policy, fmt.Errorf("list namespaces: %w", err)))
	}
	all := len(namespaces)
	maps.DeleteFunc(namespaces, func(_ string, set labels.Set) bool { return !policy.selector.Matches(set) })
	if len(namespaces) == 0 {
		return append(r.unenforced(policy, nil), fmt.Sprintf("%s selects none of the %s that there are now", called("RuntimePolicy", policy.Name), plural(all, "namespace")))
	}
	maps.DeleteFunc(namespaces, func(name string, _ labels.Set) bool { return slices.Contains(r.Exempt, name) })
	where := slices.Sorted(maps.Keys(namespaces))
	if len(where) > maxListedNamespaces {
		where = []string{metav1.NamespaceAll}
	}
	effect := newEffect(r.Gate, policy, r.Policies(), namespaces, r.Scope)
	reached := survey(ctx, r.Live, where, func(ctx context.Context, u *user) {
		if _, selected := namespaces[u.namespace]; selected {
			effect.visit(ctx, u)
		}
	})
	return append(r.unenforced(policy, effect), r.denials(policy, effect, reached)...)
}

// denials tell what would be denied, with a warning for each reason.
func (r *PolicyReviewer) denials(policy *Policy, effect *effect, reached reach) []string {
	var warnings []string
	left := 0
	for _, why := range effect.sorted() {
		switch {
		case why.unasked:
		case len(warnings) == maxReasons:
			left++
		default:
			warnings = append(warnings, tellToll(policy, why, effect.tolls[why], reached))
		}
	}
	if left > 0 {
		warnings = append(warnings, fmt.Sprintf("%s would deny more for %s", called("RuntimePolicy", policy.Name), plural(left, "other reason")))
	}
	if len(warnings) > 0 && r.Gate.MaxAction < Deny {
		warnings = append(warnings, fmt.Sprintf("nothing is denied yet: runtimegate runs with --max-action=%s", r.Gate.MaxAction))
	}
	switch {
	case reached.err != nil:
		warnings = append(warnings, r.unknown(policy, reached.err))
	case reached.cut && reached.looked == 0:
		warnings = append(warnings, r.unknown(policy, fmt.Errorf("the API server did not answer within %s", surveyTime)))
	case reached.cut && len(warnings) == 0:
		warnings = append(warnings, fmt.Sprintf("%s would deny none of the first %s; the others were not looked at", called("RuntimePolicy", policy.Name), plural(reached.looked, "object")))
	}
	return warnings
}

// tellToll says how much a policy would deny for one reason.
func tellToll(policy *Policy, why reason, t *toll, reached reach) string {
	size := t.size()
	var rest []part
	if reached.cut || reached.err != nil {
		size = "at least " + size
	}
	if reached.cut {
		rest = append(rest, say(fmt.Sprintf("only the first %s were looked at", plural(reached.looked, "object"))))
	}
	rest = append(rest, say("what runs keeps running, what is made anew is denied"))
	point := fmt.Sprintf("%s would deny %s in %s: %s", called("RuntimePolicy", policy.Name), size, t.spread(), why)
	return fit(named(point, t.names()), rest...)
}

// unenforced warns of a part of a policy that nothing enforces.
func (r *PolicyReviewer) unenforced(policy *Policy, effect *effect) []string {
	if policy.allowDefault || r.Scope == ScopeAll {
		return nil
	}
	warning := fmt.Sprintf("%s: allowDefault: false is not enforced: %s", called("RuntimePolicy", policy.Name), unaskedHint)
	if effect != nil {
		for why, t := range effect.tolls {
			if why.unasked {
				warning = fit(warning, say("it would then deny "+t.size()))
			}
		}
	}
	return []string{warning}
}

// unaskedHint says why allowDefault: false is not enforced, and what to do.
const unaskedHint = "the webhook is not asked about Pods without a RuntimeClass (set pods.scope to All: serve --pods-scope=All)"

func (r *PolicyReviewer) unknown(policy *Policy, err error) string {
	return fmt.Sprintf("the effect of %s on what there is now is not fully known: %v", called("RuntimePolicy", policy.Name), err)
}

// namespacesOf lists the labels of the namespaces that a cache holds.
func namespacesOf(cached client.Reader) func(context.Context) (map[string]labels.Set, error) {
	return func(ctx context.Context) (map[string]labels.Set, error) {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		list := namespaceList()
		if err := cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		sets := make(map[string]labels.Set, len(list.Items))
		for i := range list.Items {
			sets[list.Items[i].Name] = list.Items[i].Labels
		}
		return sets, nil
	}
}
