package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// A State is what is known of a cluster at one moment, to judge by where no
// cluster is watched.
type State struct {
	// PoliciesUnknown and NamespacesUnknown say why not all RuntimePolicies, and
	// not all Namespaces, are known; nil if they are.
	PoliciesUnknown, NamespacesUnknown error

	options    Options
	index      *inventory.Index
	nodes      map[string]*corev1.Node
	reports    map[string]*v1alpha1.NodeRuntime
	classes    map[string]*nodev1.RuntimeClass
	policies   map[string]*Policy
	written    map[string]*v1alpha1.RuntimePolicy // those of policies
	namespaces map[string]labels.Set
}

// NewState returns the State of an empty cluster.
func NewState(o Options) *State {
	return &State{
		options:    o,
		index:      inventory.NewIndex(o.Inventory),
		nodes:      map[string]*corev1.Node{},
		reports:    map[string]*v1alpha1.NodeRuntime{},
		classes:    map[string]*nodev1.RuntimeClass{},
		policies:   map[string]*Policy{},
		written:    map[string]*v1alpha1.RuntimePolicy{},
		namespaces: map[string]labels.Set{},
	}
}

// Apply adds an object, or replaces the one of that name. Other kinds than Node,
// NodeRuntime, RuntimeClass, RuntimePolicy and Namespace change nothing. The
// error says why a RuntimePolicy cannot be enforced; it then changes nothing
// either.
func (s *State) Apply(object runtime.Object) error {
	switch object := object.(type) {
	case *corev1.Node:
		s.index.SetNode(object)
		kept := inventory.StripNode(object)
		kept.Status.NodeInfo.ContainerRuntimeVersion = object.Status.NodeInfo.ContainerRuntimeVersion
		s.nodes[object.Name] = kept
	case *v1alpha1.NodeRuntime:
		s.index.SetReport(object)
		s.reports[object.Name] = object
	case *nodev1.RuntimeClass:
		s.classes[object.Name] = object
	case *corev1.Namespace:
		// The API server labels every namespace with its name.
		set := labels.Set{corev1.LabelMetadataName: object.Name}
		s.namespaces[object.Name] = labels.Merge(object.Labels, set)
	case *v1alpha1.RuntimePolicy:
		policy, err := NewPolicy(object)
		if err != nil {
			return err
		}
		s.policies[object.Name], s.written[object.Name] = policy, object
	}
	return nil
}

// Refuses tells if the API server would not let an object take the place of the
// one of that name: the handler of a RuntimeClass cannot be changed.
func (s *State) Refuses(object runtime.Object) (verdict Verdict) {
	class, ok := object.(*nodev1.RuntimeClass)
	if !ok {
		return verdict
	}
	if old, ok := s.classes[class.Name]; ok && old.Handler != class.Handler {
		f := told(Rejected, "the API server rejects the change of RuntimeClass %q from handler %q to %q: delete the class, then make it anew", class.Name, old.Handler, class.Handler)
		f.Action = Deny
		verdict.add(f)
	}
	return verdict
}

// NodeCount returns the number of Nodes.
func (s *State) NodeCount() int { return s.index.NodeCount() }

// ClassCount returns the number of RuntimeClasses.
func (s *State) ClassCount() int { return len(s.classes) }

// StaleReports returns how many NodeRuntimes are too old to count at the time
// now, and how many there are.
func (s *State) StaleReports(now time.Time) (stale, all int) {
	for _, report := range s.reports {
		if now.Sub(report.Spec.RenewedAt.Time) > s.options.Inventory.StaleAfter {
			stale++
		}
	}
	return stale, len(s.reports)
}

// Fleet returns the nodes, each by itself, as they are known at the time now.
func (s *State) Fleet(now time.Time) *fleet.Fleet {
	members := make([]fleet.Member, 0, len(s.nodes))
	for name, node := range s.nodes {
		members = append(members, fleet.Member{Object: node, Report: s.reports[name]})
	}
	return fleet.New(members, s.options.Inventory, now)
}

// Gate returns a Gate that judges by the state as it is, at the time now. Apply
// must not be called at the same time as its methods.
func (s *State) Gate(now time.Time) *Gate {
	return &Gate{
		Index:        s.index,
		Class:        s.class,
		LiveClass:    s.class,
		Classes:      s.classList,
		Rules:        s.rules,
		Now:          func() time.Time { return now },
		MaxAction:    s.options.MaxAction,
		ClassMissing: s.options.ClassMissing,
	}
}

func (s *State) class(_ context.Context, name string) (*nodev1.RuntimeClass, error) {
	if class, ok := s.classes[name]; ok {
		return class, nil
	}
	return nil, apierrors.NewNotFound(nodev1.Resource("runtimeclasses"), name)
}

func (s *State) classList(context.Context) []nodev1.RuntimeClass {
	list := make([]nodev1.RuntimeClass, 0, len(s.classes))
	for _, name := range sortedNames(s.classes) {
		list = append(list, *s.classes[name])
	}
	return list
}

func (s *State) rules(_ context.Context, namespace string) (Rules, error) {
	all := slices.Collect(maps.Values(s.policies))
	rules, sure := rulesByName(all, namespace)
	if set, known := s.namespaces[namespace]; known {
		rules, sure = RulesFor(all, set), true
	}
	switch {
	case s.PoliciesUnknown != nil:
		return rules, s.PoliciesUnknown
	case !sure && s.NamespacesUnknown != nil:
		return rules, fmt.Errorf("its labels are not known: %w", s.NamespacesUnknown)
	case !sure:
		return rules, errors.New("its labels are not known: there is no such Namespace")
	}
	return rules, nil
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
