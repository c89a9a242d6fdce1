// Package v1alpha1 holds the types of the API group runtimegate.io, version
// v1alpha1.
//
// +kubebuilder:object:generate=true
// +groupName=runtimegate.io
package v1alpha1
