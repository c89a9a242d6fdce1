package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A RuntimePolicy says, for the namespaces that it selects, which handlers may
// be used and what is done about a handler that nodes do not have. Where several
// select a namespace, all must allow a handler, and for each condition the
// strictest action counts.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=runtimegate
// +kubebuilder:printcolumn:name="NAMESPACES",type=integer,JSONPath=`.status.matchedNamespaces`,description="Number of namespaces that it selects"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type RuntimePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the admin wants.
	// +required
	Spec RuntimePolicySpec `json:"spec"`

	// status is what runtimegate has made of it.
	// +optional
	Status RuntimePolicyStatus `json:"status,omitzero"`
}

// A RuntimePolicyList is a list of RuntimePolicies.
//
// +kubebuilder:object:root=true
type RuntimePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RuntimePolicy `json:"items"`
}

// RuntimePolicySpec is what an admin wants of some namespaces.
type RuntimePolicySpec struct {
	// namespaceSelector picks the namespaces by label; an empty one picks all.
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In','NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists','DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="matchExpressions: In and NotIn need values, Exists and DoesNotExist take none, and there is no other operator"
	// +required
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`

	// handlers says which handlers may be used; absent: all.
	// +optional
	Handlers *AllowedHandlers `json:"handlers,omitempty"`

	// actions are what is done about each condition, by its name. A condition
	// that no policy of a namespace names has its built-in action.
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(c, c in ['Missing','Partial','Unknown','Broken','Expiring','Forbidden','Oversized','FeatureMissing'])",message="the conditions are Missing, Partial, Unknown, Broken, Expiring, Forbidden, Oversized and FeatureMissing"
	Actions map[string]Action `json:"actions,omitempty"`
}

// AllowedHandlers are the handlers that may be used.
type AllowedHandlers struct {
	// allowed are names of handlers, in which * stands for any number of
	// characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$`
	Allowed []string `json:"allowed,omitempty"`

	// allowDefault says whether Pods that name no RuntimeClass may run, with the
	// default handler of their node.
	// +optional
	// +kubebuilder:default=true
	AllowDefault *bool `json:"allowDefault,omitempty"`
}

// Action is what is done about a condition.
//
// +kubebuilder:validation:Enum=Deny;Warn;Audit;Allow
type Action string

// The actions, strictest first.
const (
	// ActionDeny rejects Pods, and warns of workloads.
	ActionDeny Action = "Deny"
	// ActionWarn lets pass, with a warning.
	ActionWarn Action = "Warn"
	// ActionAudit lets pass, with audit annotations only.
	ActionAudit Action = "Audit"
	// ActionAllow says nothing at all.
	ActionAllow Action = "Allow"
)

// RuntimePolicyStatus is what runtimegate has made of a policy.
type RuntimePolicyStatus struct {
	// conditions: Ready says whether the policy is enforced.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// matchedNamespaces is the number of namespaces that the policy selects.
	// +optional
	MatchedNamespaces *int32 `json:"matchedNamespaces,omitempty"`
}
