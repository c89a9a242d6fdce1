package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

func TestFeaturesOf(t *testing.T) {
	no, yes := false, true
	strict, merge := corev1.SupplementalGroupsPolicyStrict, corev1.SupplementalGroupsPolicyMerge
	enabled, ifPossible := corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible
	mounting := func(mode *corev1.RecursiveReadOnlyMode) []corev1.Container {
		return []corev1.Container{{}, {VolumeMounts: []corev1.VolumeMount{{}, {RecursiveReadOnly: mode}}}}
	}
	tests := map[string]struct {
		spec corev1.PodSpec
		want Features
	}{
		"nothing":                          {corev1.PodSpec{HostUsers: &yes}, 0},
		"a user namespace":                 {corev1.PodSpec{HostUsers: &no}, UserNamespaces},
		"a read-only mount":                {corev1.PodSpec{Containers: mounting(&enabled)}, RecursiveReadOnlyMounts},
		"a read-only mount while starting": {corev1.PodSpec{InitContainers: mounting(&enabled)}, RecursiveReadOnlyMounts},
		"a read-only mount if possible":    {corev1.PodSpec{Containers: mounting(&ifPossible)}, 0},
		"its own groups only":              {corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{SupplementalGroupsPolicy: &strict}}, SupplementalGroupsPolicy},
		"groups as ever":                   {corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{SupplementalGroupsPolicy: &merge}}, 0},
		"devices":                          {corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{}}, HostUsers: &no}, CDI | UserNamespaces},
	}
	for name, tt := range tests {
		if got := FeaturesOf(&tt.spec); got != tt.want {
			t.Errorf("%s: %b, want %b", name, got, tt.want)
		}
	}
}

// TestCoverageOfFeatures asks one node for each feature of a handler.
func TestCoverageOfFeatures(t *testing.T) {
	no, yes := false, true
	const all = UserNamespaces | RecursiveReadOnlyMounts | SupplementalGroupsPolicy | CDI
	listing := func(name string, userNamespaces, mounts *bool) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.RuntimeHandlers = append(n.Status.RuntimeHandlers, corev1.NodeRuntimeHandler{Name: name,
				Features: &corev1.NodeRuntimeHandlerFeatures{UserNamespaces: userNamespaces, RecursiveReadOnlyMounts: mounts}})
		}
	}
	groups := func(n *corev1.Node) { n.Status.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: &yes} }
	telling := func(cdi bool, features *v1alpha1.Features) *v1alpha1.NodeRuntime {
		r := report("n", ago(time.Minute), "kata", "runc")
		r.Spec.DefaultHandler, r.Spec.CDI = "runc", &v1alpha1.CDI{Enabled: cdi}
		r.Spec.Handlers[0].Features = features
		return r
	}
	tests := []struct {
		name    string
		node    *corev1.Node
		report  *v1alpha1.NodeRuntime
		handler string
		want    string // of each feature, in order: + offered, - not, ? not told
	}{
		{"nothing is told", oldNode("n", lists("kata")), nil, "kata", "????"},
		{"the kubelet tells", oldNode("n", listing("kata", &yes, &no), groups), nil, "kata", "+-+?"},
		{"the kubelet tells half", oldNode("n", listing("kata", nil, &yes)), nil, "kata", "?+??"},
		{"of the default handler", oldNode("n", listing("", &yes, &yes), listing("kata", &no, &no)), nil, "", "++??"},
		{"of another handler", oldNode("n", listing("", &yes, &yes), listing("kata", &no, &no)), nil, "kata", "--??"},
		{"the reporter tells", oldNode("n"), telling(true, &v1alpha1.Features{UserNamespaces: true}), "kata", "+-?+"},
		{"the reporter knows better", oldNode("n", listing("kata", &yes, &yes), groups), telling(false, &v1alpha1.Features{}), "kata", "--+-"},
		{"the reporter does not know, the kubelet does", oldNode("n", listing("kata", &yes, &yes)), telling(false, nil), "kata", "++?-"},
		{"the reporter names the default handler", oldNode("n", listing("runc", &no, &no), listing("", &yes, &yes)), telling(true, nil), "", "++?+"},
	}
	for _, tt := range tests {
		x := NewIndex(DefaultOptions)
		x.SetNode(tt.node)
		if tt.report != nil {
			x.SetReport(tt.report)
		}
		got := ""
		for _, f := range x.Coverage(ClassPlacement(nil, nil, false), tt.handler, all, now).Features {
			switch {
			case f.Has.Count == 1:
				got += "+"
			case f.Lacks.Count == 1:
				got += "-"
			case f.Unknown.Count == 1:
				got += "?"
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Every node has a default handler, known or not, and none lacks it.
func TestCoverageOfTheDefaultHandler(t *testing.T) {
	broken := func(node, standard string) *v1alpha1.NodeRuntime {
		r := report(node, ago(time.Minute), "nvidia", "runc")
		r.Spec.DefaultHandler = standard
		r.Spec.Handlers[0].Binary = &v1alpha1.Program{State: v1alpha1.ProgramNotFound}
		r.Spec.Next = &v1alpha1.Next{Handlers: []string{"nvidia"}, DefaultHandler: "nvidia"}
		return r
	}
	x := NewIndex(DefaultOptions)
	for _, name := range []string{"broken", "expiring", "silent", "undefined"} {
		x.SetNode(oldNode(name))
	}
	x.SetNode(oldNode("listed", lists("", "runc")))
	x.SetReport(broken("broken", "nvidia"))
	x.SetReport(broken("expiring", "runc"))
	x.SetReport(broken("undefined", "kata"))
	c := x.Coverage(ClassPlacement(nil, nil, false), "", 0, now)
	got := map[string]Nodes{"has": c.Has, "lacks": c.Lacks, "silent": c.Silent, "broken": c.Broken, "expiring": c.Expiring}
	want := map[string]Nodes{
		"has": {4, []string{"broken", "expiring", "listed"}}, "lacks": {}, "silent": {1, []string{"silent"}},
		"broken": {2, []string{"broken", "undefined"}}, "expiring": {1, []string{"expiring"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"kata", "nvidia", "runc"}, c.Standards); diff != "" {
		t.Errorf("default handlers (-want +got):\n%s", diff)
	}
}

// Only nodes that have the handler, and that the overhead alone keeps out, are
// crowded.
func TestCoverageOfCrowdedNodes(t *testing.T) {
	node := func(name, cpu string, handlers ...string) *corev1.Node {
		n := oldNode(name, lists(handlers...))
		n.Status.Allocatable = quantities("pods", "110", "cpu", cpu)
		return n
	}
	x := NewIndex(DefaultOptions)
	x.SetNode(node("crowded", "1", "kata"))
	x.SetNode(node("lacks", "1", "runc"))
	x.SetNode(node("small", "500m", "kata"))
	pod := &corev1.Pod{Spec: requesting("cpu", "900m")}
	pod.Spec.Overhead = quantities("cpu", "250m")
	c := x.Coverage(PlacementOf(pod), "kata", 0, now)
	if c.Candidates() != 0 || c.Crowded.String() != "crowded" || c.TooSmall.Count != 3 {
		t.Errorf("%d candidates, crowded: %s, too small: %s", c.Candidates(), c.Crowded, c.TooSmall)
	}
	x.SetNode(node("roomy", "2", "kata"))
	if c = x.Coverage(PlacementOf(pod), "kata", 0, now); c.Has.String() != "roomy" {
		t.Errorf("has it: %s", c.Has)
	}
}
