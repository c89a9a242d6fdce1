package webhook

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// statusOf has the controller write the status of a policy, and returns it and
// how often it wrote when it was asked twice.
func statusOf(t *testing.T, s *policyStatus, object *v1alpha1.RuntimePolicy) (*v1alpha1.RuntimePolicy, int) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	writes := 0
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).WithStatusSubresource(object).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		}}).Build()
	s.namespaces = threeNamespaces
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)}
	for range 2 {
		if result, err := s.Reconcile(t.Context(), request); err != nil || result.RequeueAfter != 0 {
			t.Fatalf("%v, %v", result, err)
		}
	}
	got := &v1alpha1.RuntimePolicy{}
	if err := s.client.Get(t.Context(), request.NamespacedName, got); err != nil {
		t.Fatal(err)
	}
	return got, writes
}

func TestPolicyStatus(t *testing.T) {
	tests := []struct {
		name    string
		spec    string
		s       policyStatus
		matched int32 // -1: not known
		ready   metav1.ConditionStatus
		reason  string
		message string
	}{
		{"enforced", `{namespaceSelector: {matchLabels: {tenant: ml}}}`, policyStatus{maxAction: Deny}, 1, "True", "Enforced", "enforced in 1 namespace"},
		{"selects none", `{namespaceSelector: {matchLabels: {tenant: no}}}`, policyStatus{maxAction: Deny}, 0, "True", "Enforced", "enforced in 0 namespaces"},
		{"selects exempt ones", `{namespaceSelector: {}}`, policyStatus{maxAction: Deny, exempt: []string{"runtimegate-system", "kube-system"}}, 3, "True", "Enforced",
			"enforced in 2 namespaces, not in kube-system: the webhook leaves these out"},
		{"requires a class", `{namespaceSelector: {}, handlers: {allowDefault: false}}`, policyStatus{maxAction: Deny, scope: ScopeAll}, 3, "True", "Enforced", "enforced in 3 namespaces"},
		{"requires a class, and nobody asks", `{namespaceSelector: {}, handlers: {allowDefault: false}}`, policyStatus{maxAction: Deny, scope: ScopeClass}, 3, "False", "DefaultNotEnforced",
			"allowDefault: false is not enforced: the webhook is not asked about Pods without a RuntimeClass (set pods.scope to All: serve --pods-scope=All); the rest is enforced in 3 namespaces"},
		{"capped", `{namespaceSelector: {}}`, policyStatus{maxAction: Warn}, 3, "True", "Enforced", "enforced in 3 namespaces; nothing is denied: runtimegate runs with --max-action=Warn"},
		{"makes no sense", `{namespaceSelector: {matchLabels: {a: "not a label"}}}`, policyStatus{maxAction: Deny}, -1, "False", "Invalid", `not enforced: RuntimePolicy "p": spec.namespaceSelector`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			object := policyObject(t, "p", tt.spec)
			object.Generation = 7
			got, writes := statusOf(t, &tt.s, object)
			if matched := got.Status.MatchedNamespaces; (matched == nil) != (tt.matched < 0) || matched != nil && *matched != tt.matched {
				t.Errorf("matched %v, want %d", matched, tt.matched)
			}
			if len(got.Status.Conditions) != 1 {
				t.Fatalf("conditions %v", got.Status.Conditions)
			}
			c := got.Status.Conditions[0]
			if c.Type != "Ready" || c.Status != tt.ready || c.Reason != tt.reason || !strings.HasPrefix(c.Message, tt.message) || c.ObservedGeneration != 7 || c.LastTransitionTime.IsZero() {
				t.Errorf("got %+v", c)
			}
			if writes != 1 {
				t.Errorf("wrote %d times", writes)
			}
		})
	}
}

// The time of the last transition must not move, or two replicas would write in
// turn.
func TestPolicyStatusIsSettled(t *testing.T) {
	object := policyObject(t, "p", `{namespaceSelector: {}}`)
	matched := int32(3)
	object.Status = v1alpha1.RuntimePolicyStatus{MatchedNamespaces: &matched, Conditions: []metav1.Condition{{
		Type: "Ready", Status: "True", Reason: "Enforced", Message: "enforced in 3 namespaces", LastTransitionTime: metav1.NewTime(reportNow),
	}}}
	if _, writes := statusOf(t, &policyStatus{maxAction: Deny}, object); writes != 0 {
		t.Errorf("wrote %d times", writes)
	}
}

// Another replica has written meanwhile.
func TestPolicyStatusConflict(t *testing.T) {
	s := &policyStatus{maxAction: Deny}
	object := policyObject(t, "p", `{namespaceSelector: {}}`)
	statusOf(t, s, object)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "runtimepolicies"}, "p", nil)
	s.client = interceptor.NewClient(s.client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			obj.(*v1alpha1.RuntimePolicy).Name = key.Name
			return nil
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return conflict
		},
	})
	result, err := s.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "p"}})
	if err != nil || result.RequeueAfter != time.Second {
		t.Errorf("%v, %v; want it to try again", result, err)
	}
}
