package inventory

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"
	resourcehelper "k8s.io/component-helpers/resource"
)

func labelledNode(name string, pairs map[string]string) *corev1.Node {
	return oldNode(name, lists("runc"), func(n *corev1.Node) { n.Labels = pairs })
}

// A key that each node has another value of does not make a group of each node,
// whatever its name is. When it no longer is such a key it makes groups again.
func TestNamingKeysAreFoundByCounting(t *testing.T) {
	const size = 2000
	x := NewIndex(DefaultOptions)
	set := func(serial func(i int) string) {
		for i := range size {
			x.SetNode(labelledNode(fmt.Sprintf("n%04d", i), map[string]string{
				"zone": fmt.Sprint(i % 3), "example.com/serial": serial(i), "rack": fmt.Sprintf("r%d", i/40)}))
		}
	}
	ask := func(key, value string) Nodes {
		return x.Coverage(ClassPlacement(map[string]string{key: value}, nil, false), "runc", 0, now).Has
	}
	set(func(i int) string { return fmt.Sprint(i) })
	if got := ask("example.com/serial", "77"); got.String() != "n0077" {
		t.Errorf("serial 77: %s", got)
	}
	if got := len(x.groups); got != 3*size/40 || !x.naming["example.com/serial"] || x.naming["rack"] {
		t.Errorf("%d groups, naming: %v", got, x.naming)
	}
	set(func(i int) string { return fmt.Sprint(i % 2) })
	if got := ask("example.com/serial", "1"); got.Count != size/2 || got.Sample[0] != "n0001" {
		t.Errorf("serial 1: %s", got)
	}
	if x.naming["example.com/serial"] || len(x.postings) > 0 {
		t.Errorf("naming: %v", x.naming)
	}
	if got := ask("rack", "r7"); got.Count != 40 || got.Sample[0] != "n0280" {
		t.Errorf("rack r7: %s", got)
	}
}

// With more nodes than a chunk or a page has, each is found by what names it, and no
// other is, also when others have come and gone.
func TestNodesAreFoundAmongMany(t *testing.T) {
	const size, each = 8 * chunkSize, 10
	x := NewIndex(DefaultOptions)
	name := func(i int) string { return fmt.Sprintf("n%04d", i) }
	set := func(i int) {
		x.SetNode(labelledNode(name(i), map[string]string{corev1.LabelHostname: name(i), "rack": fmt.Sprint(i / each)}))
	}
	for i := range size {
		set(i)
	}
	for round, gone := range []func(i int) bool{
		func(int) bool { return false },
		func(i int) bool { return i%3 == 0 },
		func(i int) bool { return i < size/2 },
		func(i int) bool { return i%7 == 0 },
	} {
		for i := range size {
			if _, there := x.nodes[name(i)]; gone(i) && there {
				x.DeleteNode(name(i))
			} else if !gone(i) && !there {
				set(i)
			}
		}
		racks := map[string]Nodes{}
		for i := range size {
			want, rack := Nodes{}, fmt.Sprint(i/each)
			if !gone(i) {
				want = Nodes{1, []string{name(i)}}
				racks[rack] = Nodes{racks[rack].Count + 1, append(racks[rack].Sample, name(i))}
			}
			called := x.Coverage(&Placement{nodeName: name(i)}, "runc", 0, now).Has
			labelled := x.Coverage(ClassPlacement(map[string]string{corev1.LabelHostname: name(i)}, nil, false), "runc", 0, now).Has
			if diff := cmp.Diff([]Nodes{want, want}, []Nodes{called, labelled}); diff != "" {
				t.Fatalf("round %d: %s by name and by label (-want +got):\n%s", round, name(i), diff)
			}
		}
		for rack, want := range racks {
			want.Sample = want.Sample[:min(want.Count, SampleSize)]
			got := x.Coverage(ClassPlacement(map[string]string{"rack": rack}, nil, false), "runc", 0, now).Has
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("round %d: rack %s (-want +got):\n%s", round, rack, diff)
			}
		}
	}
	if !x.naming["rack"] {
		t.Error("the racks are not listed by value")
	}
}

// What is asked about by a naming key or a name may leave out the first nodes of a
// group, or take one of it.
func TestCoverageOfPartsOfGroups(t *testing.T) {
	x := NewIndex(DefaultOptions)
	for i := range 6 {
		name := fmt.Sprintf("n%d", i)
		x.SetNode(labelledNode(name, map[string]string{corev1.LabelHostname: name, "zone": "a"}))
	}
	x.SetNode(labelledNode("m", map[string]string{"zone": "b"}))
	host := func(operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return labelled(corev1.LabelHostname, operator, values...)
	}
	tests := []struct {
		name string
		spec corev1.PodSpec
		want Nodes
	}{
		{"one by its hostname", corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelHostname: "n4"}}, Nodes{1, []string{"n4"}}},
		{"none by a hostname", corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelHostname: "m"}}, Nodes{}},
		{"two", corev1.PodSpec{Affinity: required(host(corev1.NodeSelectorOpIn, "n5", "n2", "n5"))}, Nodes{2, []string{"n2", "n5"}}},
		{"all but the first two", corev1.PodSpec{Affinity: required(host(corev1.NodeSelectorOpNotIn, "n1", "n0"))}, Nodes{5, []string{"m", "n2", "n3"}}},
		{"all but those in a zone", corev1.PodSpec{NodeSelector: map[string]string{"zone": "a"}, Affinity: required(host(corev1.NodeSelectorOpNotIn, "n0", "n3"))}, Nodes{4, []string{"n1", "n2", "n4"}}},
		{"with a hostname", corev1.PodSpec{Affinity: required(host(corev1.NodeSelectorOpExists))}, Nodes{6, []string{"n0", "n1", "n2"}}},
		{"without", corev1.PodSpec{Affinity: required(host(corev1.NodeSelectorOpDoesNotExist))}, Nodes{1, []string{"m"}}},
		{"one or all of a zone", corev1.PodSpec{Affinity: required(called("n5"), labelled("zone", corev1.NodeSelectorOpIn, "b"))}, Nodes{2, []string{"m", "n5"}}},
		{"one that is named, and not selected", corev1.PodSpec{NodeName: "n1", NodeSelector: map[string]string{"zone": "b"}}, Nodes{}},
		{"one that is named", corev1.PodSpec{NodeName: "n1"}, Nodes{1, []string{"n1"}}},
		{"one that is not there", corev1.PodSpec{NodeName: "n9"}, Nodes{}},
	}
	for _, tt := range tests {
		c := x.Coverage(PlacementOf(&corev1.Pod{Spec: tt.spec}), "runc", 0, now)
		if diff := cmp.Diff(tt.want, c.Has); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if c.Has.Count+c.Elsewhere.Count != 7 {
			t.Errorf("%s: %d here, %d elsewhere", tt.name, c.Has.Count, c.Elsewhere.Count)
		}
	}
}

// Nodes that differ in nothing that matters are of one group.
func TestWhatMakesNoGroup(t *testing.T) {
	x := NewIndex(DefaultOptions)
	since := ago(time.Hour)
	x.SetNode(oldNode("a", lists("runc", "kata"), func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &since}, {Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}}
		n.Status.Allocatable = quantities("cpu", "2", "pods", "10")
	}))
	x.SetNode(oldNode("b", lists("kata", "runc"), created(ago(48*time.Hour)), func(n *corev1.Node) {
		n.UID, n.ResourceVersion = "other", "7"
		n.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule}}
		n.Status.Allocatable = quantities("cpu", "2000m", "pods", "10")
	}))
	x.SetReport(report("a", ago(time.Minute), "kata"))
	x.SetReport(report("b", ago(14*time.Minute), "kata"))
	if x.at(now); len(x.groups) != 1 {
		t.Errorf("%d groups", len(x.groups))
	}
}

// Nothing of nodes that are gone is kept.
func TestIndexForgets(t *testing.T) {
	x := NewIndex(DefaultOptions)
	for i := range 100 {
		name := fmt.Sprintf("n%d", i)
		x.SetReport(report(name, ago(0), "kata"))
		x.SetNode(labelledNode(name, map[string]string{corev1.LabelHostname: name, "zone": fmt.Sprint(i % 3)}))
		x.SetReport(report("orphan"+name, ago(0), "runc"))
	}
	x.at(now)
	for i := range 100 {
		x.DeleteNode(fmt.Sprintf("n%d", i))
		x.DeleteReport(fmt.Sprintf("orphann%d", i))
	}
	x.at(now.Add(time.Hour))
	for what, n := range map[string]int{
		"nodes": len(x.nodes), "orphans": len(x.orphans), "labels": len(x.labels), "taints": len(x.taints), "rooms": len(x.rooms),
		"listings": len(x.listings), "reports": len(x.reports), "views": len(x.views), "kinds": len(x.kinds), "groups": len(x.groups),
		"postings": len(x.postings), "by name": len(x.byName), "deadlines": len(x.deadlines),
		"slots": int(x.slots.size) - len(x.freeSlots), "numbers": int(x.numbers) - len(x.freeNumbers), "ranked": len(x.ranked),
	} {
		if n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}

// What is plainly valid is valid for the packages that decide.
func TestPlainIsValid(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 0))
	plain := 0
	for range 20_000 {
		text := ""
		for range 1 + r.IntN(6) {
			text += pick(r, "a", "b1", "Z", ".", "-", "_", "/", " ", "0", "abcdefghijklmnopqrstuvwxyz0123456789")
		}
		if isPlainKey(text) {
			plain++
			if _, err := labels.NewRequirement(text, selection.Exists, nil); err != nil {
				t.Errorf("key %q: %v", text, err)
			}
			if errs := validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix + text); len(errs) > 0 {
				t.Errorf("resource %q: %v", text, errs)
			}
		}
		if isPlainValue(text) {
			if _, err := labels.NewRequirement("key", selection.In, []string{text}); err != nil {
				t.Errorf("value %q: %v", text, err)
			}
		}
	}
	if plain < 100 {
		t.Errorf("%d plain keys say little", plain)
	}
}

// A Pod of one container asks for what the library adds up.
func TestOnlyRequests(t *testing.T) {
	for _, spec := range []corev1.PodSpec{
		requesting("cpu", "500m", "memory", "1Gi", "nvidia.com/gpu", "1"), requesting("cpu", "0"), requesting(),
		{Containers: []corev1.Container{{}}},
	} {
		pod := &corev1.Pod{Spec: spec}
		want := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
		if got := onlyRequests(pod); len(got) != len(want) || len(got) > 0 && cmp.Diff(want, got) != "" {
			t.Errorf("%v, want %v", got, want)
		}
	}
	several := requesting("cpu", "1")
	several.InitContainers = requesting("cpu", "2").Containers
	if got := onlyRequests(&corev1.Pod{Spec: several, ObjectMeta: metav1.ObjectMeta{Name: "p"}}); got != nil {
		t.Errorf("%v of a Pod with an init container", got)
	}
}
