package harness

import (
	"context"
	"encoding/json"
	"fmt"
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
}

// object is the Node as a kubelet registers it.
func (n Node) object() any {
	type object = map[string]any
	labels := object{"kubernetes.io/hostname": n.Name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
	for k, v := range n.Labels {
		labels[k] = v
	}
	var handlers []object
	for _, h := range n.Handlers {
		handlers = append(handlers, object{"name": h})
	}
	resources := object{"cpu": "32", "memory": "256Gi", "pods": "110"}
	return object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": n.Name, "labels": labels, "annotations": object{kwokAnnotation: kwokFake}},
		"status":   object{"allocatable": resources, "capacity": resources, "runtimeHandlers": handlers},
	}
}

// AddNodes makes nodes and waits until kwok has made them ready.
func (c *Cluster) AddNodes(ctx context.Context, nodes ...Node) error {
	if len(nodes) == 0 {
		return nil
	}
	wait := []string{"kubectl", "wait", "--for=condition=Ready", "--timeout=60s"}
	for _, n := range nodes {
		manifest, err := json.Marshal(n.object())
		if err != nil {
			return err
		}
		if _, err := c.Must(ctx, string(manifest), "kubectl", "create", "-f", "-"); err != nil {
			return fmt.Errorf("make node %s: %w", n.Name, err)
		}
		wait = append(wait, "node/"+n.Name)
	}
	_, err := c.Must(ctx, "", wait...)
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
