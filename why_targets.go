package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/runtimegate/runtimegate/webhook/why"
)

// A whyTarget is what an argument of why names.
type whyTarget struct{ kind, name string }

// whyKinds are the kinds that why can be asked about, by the names that kubectl
// takes for them.
var whyKinds = map[string][]string{
	"Pod":                   {"pod", "pods", "po"},
	"Deployment":            {"deployment", "deployments", "deploy", "deployment.apps", "deployments.apps"},
	"ReplicaSet":            {"replicaset", "replicasets", "rs", "replicaset.apps", "replicasets.apps"},
	"StatefulSet":           {"statefulset", "statefulsets", "sts", "statefulset.apps", "statefulsets.apps"},
	"DaemonSet":             {"daemonset", "daemonsets", "ds", "daemonset.apps", "daemonsets.apps"},
	"Job":                   {"job", "jobs", "job.batch", "jobs.batch"},
	"CronJob":               {"cronjob", "cronjobs", "cj", "cronjob.batch", "cronjobs.batch"},
	"ReplicationController": {"replicationcontroller", "replicationcontrollers", "rc"},
	"PodTemplate":           {"podtemplate", "podtemplates"},
	"RuntimeClass":          {"runtimeclass", "runtimeclasses", "runtimeclass.node.k8s.io", "runtimeclasses.node.k8s.io"},
	"Node":                  {"node", "nodes", "no", "noderuntime", "noderuntimes", "nruntime"},
}

// parseTargets reads the arguments: NAME is a Pod, KIND/NAME anything else. Before
// names one kind may stand, as in "pod web-0".
func parseTargets(args []string) ([]whyTarget, error) {
	kind := "Pod"
	if len(args) > 1 && !strings.Contains(args[0], "/") {
		if named := kindCalled(args[0]); named != "" {
			kind, args = named, args[1:]
		}
	}
	var targets []whyTarget
	for _, arg := range args {
		t := whyTarget{kind, arg}
		if prefix, name, ok := strings.Cut(arg, "/"); ok {
			if t = (whyTarget{kindCalled(prefix), name}); t.kind == "" {
				return nil, fmt.Errorf("%q: want pod, node, runtimeclass, or a workload such as deployment before the /", arg)
			}
		}
		if t.name == "" || strings.Contains(t.name, "/") {
			return nil, fmt.Errorf("%q: want NAME or KIND/NAME", arg)
		}
		targets = append(targets, t)
	}
	return targets, nil
}

func kindCalled(name string) string {
	for kind, names := range whyKinds {
		if slices.Contains(names, strings.ToLower(name)) {
			return kind
		}
	}
	return ""
}

// kindNamed is the kind of manifests and targets of that name.
func kindNamed(name string) schema.GroupVersionKind {
	for _, kind := range slices.Concat(manifestKinds, stateKinds) {
		if kind.Kind == name {
			return kind
		}
	}
	return schema.GroupVersionKind{}
}

func nameOf(object runtime.Object) string {
	o, ok := object.(client.Object)
	if !ok {
		return ""
	}
	if o.GetName() == "" {
		return o.GetGenerateName()
	}
	return o.GetName()
}

// askTarget answers about one.
func (r *whyRun) askTarget(ctx context.Context, store objectStore, t whyTarget) (*why.Answer, error) {
	if t.kind == "Node" {
		if answer := why.AskNode(ctx, r.gate, r.nodes, t.name); answer != nil {
			return answer, nil
		}
		return nil, fmt.Errorf("there is no Node %q in %s", t.name, r.view.where())
	}
	namespace := r.view.namespace
	if t.kind == "RuntimeClass" {
		namespace = ""
		class, err := r.gate.Class(ctx, t.name)
		if err != nil {
			hint := r.gate.NearClasses(ctx, t.name)
			if hint != "" {
				hint = ": " + hint
			}
			return nil, fmt.Errorf("there is no RuntimeClass %q in %s%s", t.name, r.view.where(), hint)
		}
		return why.Ask(ctx, r.gate, r.nodes, r.question(class, t.kind, "", nil)), nil
	}
	object, err := store.get(ctx, kindNamed(t.kind), namespace, t.name)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("there is no %s %q in namespace %q of %s%s", t.kind, t.name, namespace, r.view.where(), r.hintAt(ctx, store, t))
		}
		return nil, fmt.Errorf("cannot read %s %q: %w", t.kind, t.name, err)
	}
	q := r.question(object, t.kind, namespace, nil)
	if q.Events, q.Pods, err = eventsOf(ctx, store, object, t.kind, namespace); err != nil {
		r.view.note("its Events are not known: %v", err)
	}
	if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		if q.Maker, err = makerOf(ctx, store, pod); err != nil {
			r.view.note("what made it is not known: %v", err)
		}
	}
	return why.Ask(ctx, r.gate, r.nodes, q), nil
}

// hintAt says what else may have been meant by what is not there.
func (r *whyRun) hintAt(ctx context.Context, store objectStore, t whyTarget) string {
	held := r.view.snapshot == ""
	if !held {
		err := store.each(ctx, kindNamed(t.kind), "", func(client.Object) { held = true })
		held = held || err != nil
	}
	switch kind := kindCalled(t.name); {
	case t.kind == "Pod" && kind != "" && kind != "Pod":
		return fmt.Sprintf(": of a %s it is asked as %s/NAME", kind, t.name)
	case !held:
		return fmt.Sprintf(", which holds no %s: why --help says what a snapshot is to hold", t.kind)
	case *r.cluster.Namespace == "":
		return ": -n names another namespace"
	}
	return ""
}

// where names the cluster or the snapshot in a message.
func (v *clusterView) where() string {
	if v.snapshot != "" {
		return v.snapshot
	}
	return v.config.Host
}
