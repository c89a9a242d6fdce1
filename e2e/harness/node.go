package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kwok plays the kubelet of the Nodes that are annotated so.
const (
	kwokAnnotation = "kwok.x-k8s.io/node"
	kwokFake       = "fake"
)

// A Node is a node to make.
type Node struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`

	// Dump is the file of what the node's "containerd config dump" printed,
	// which the node reports. Empty: it has no reporter.
	Dump string `json:"dump,omitempty"`

	// Handlers are what its kubelet lists in the Node's status. None: it is a
	// kubelet that lists none.
	Handlers []string `json:"handlers,omitempty"`

	// Features are what it lists of each of these handlers.
	Features map[string]corev1.NodeRuntimeHandlerFeatures `json:"features,omitempty"`

	// SupplementalGroupsPolicy is what it says of that. None: it says nothing.
	SupplementalGroupsPolicy *bool `json:"supplementalGroupsPolicy,omitempty"`

	// Allocatable is what it offers, where that is not what all do.
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	Taints []corev1.Taint `json:"taints,omitempty"`
}

// object is the Node as a kubelet registers it.
func (n Node) object() *corev1.Node {
	node := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        n.Name,
			Labels:      map[string]string{corev1.LabelHostname: n.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"},
			Annotations: map[string]string{kwokAnnotation: kwokFake},
		},
		Spec: corev1.NodeSpec{Taints: n.Taints},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("32"),
			corev1.ResourceMemory: resource.MustParse("256Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}},
	}
	maps.Copy(node.Labels, n.Labels)
	maps.Copy(node.Status.Allocatable, n.Allocatable)
	node.Status.Capacity = node.Status.Allocatable
	for _, name := range n.Handlers {
		handler := corev1.NodeRuntimeHandler{Name: name}
		if features, ok := n.Features[name]; ok {
			handler.Features = &features
		}
		node.Status.RuntimeHandlers = append(node.Status.RuntimeHandlers, handler)
	}
	if n.SupplementalGroupsPolicy != nil {
		node.Status.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: n.SupplementalGroupsPolicy}
	}
	return node
}

// AddNodes makes nodes and waits until kwok has made them ready.
func (c *Cluster) AddNodes(ctx context.Context, nodes ...Node) error {
	if len(nodes) == 0 {
		return nil
	}
	list := struct {
		metav1.TypeMeta `json:",inline"`
		Items           []*corev1.Node `json:"items"`
	}{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	wait := []string{"kubectl", "wait", "--for=condition=Ready", "--timeout=60s"}
	for _, n := range nodes {
		list.Items = append(list.Items, n.object())
		wait = append(wait, "node/"+n.Name)
	}
	manifest, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if _, err := c.Must(ctx, string(manifest), "kubectl", "create", "-f", "-"); err != nil {
		return fmt.Errorf("make nodes: %w", err)
	}
	_, err = c.Must(ctx, "", wait...)
	return err
}

// AddNamespace makes a namespace and waits until Pods can be created in it.
func (c *Cluster) AddNamespace(ctx context.Context, name string) error {
	if _, err := c.Must(ctx, "", "kubectl", "create", "namespace", name); err != nil {
		return err
	}
	_, err := c.Must(ctx, "", "kubectl", "wait", "--for=create", "--timeout=60s", "--namespace="+name, "serviceaccount/default")
	return err
}
