package webhook

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/runtimegate/runtimegate/inventory"
)

var update = flag.Bool("update", false, "take what is printed as the content of golden files")

// A situation is a case in which something is told.
type situation struct {
	name    string
	verdict Verdict
}

// situations are all messages of the webhook, about objects of those names.
func situations(t *testing.T, handler, class, policyName string, node func(int) string) []situation {
	t.Helper()
	few := func(from, to int) inventory.Nodes {
		var names []string
		for i := from; i < to; i++ {
			names = append(names, node(i))
		}
		return some(names...)
	}
	pod := func(coverage inventory.Coverage) Verdict {
		facts := asks(handler, coverage)
		facts.Asks[0].Class = class
		return JudgePod(facts)
	}
	byDefault := func(coverage inventory.Coverage) Verdict { return JudgePod(asks("", coverage)) }
	classOf := func(facts ClassFacts) Verdict {
		facts.Ask = Ask{Handler: handler, Class: class}
		return JudgeClass(facts, Warn)
	}
	feature := func(missing, unknown inventory.Features) (all []inventory.FeatureCoverage) {
		for _, f := range missing.Each() {
			all = append(all, inventory.FeatureCoverage{Feature: f, Lacks: few(1, 6)})
		}
		for _, f := range unknown.Each() {
			all = append(all, inventory.FeatureCoverage{Feature: f, Unknown: few(1, 6)})
		}
		return all
	}
	limits := policy(t, policyName, "{namespaceSelector: {}, handlers: {allowed: [gvisor, runc, kata-qemu, kata-fc], allowDefault: false}}")
	none := policy(t, policyName, "{namespaceSelector: {}, handlers: {allowed: []}}")
	ruled := func(handler string, p *Policy) Verdict {
		facts := asks(handler, inventory.Coverage{Has: few(1, 6)})
		facts.Asks[0].Class = class
		facts.Rules = Rules{policies: []*Policy{p}}
		return JudgePod(facts)
	}
	onDemand := asks(handler, inventory.Coverage{Lacks: few(1, 6)})
	onDemand.Asks[0].Class, onDemand.Asks[0].OnDemand = class, true
	gate := &Gate{Classes: func(context.Context) []nodev1.RuntimeClass {
		gpu := nodev1.RuntimeClass{Handler: "nvidia-cdi"}
		gpu.Name = "gpu-cdi"
		return []nodev1.RuntimeClass{gpu}
	}}
	alone := func(f *Finding) (v Verdict) { v.add(f); return v }
	notFound := apierrors.NewNotFound(schema.GroupResource{Group: "node.k8s.io", Resource: "runtimeclasses"}, class)
	overhead := &nodev1.RuntimeClass{}
	overhead.Name = class
	taint := corev1.Taint{Key: "nvidia.com/gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule}
	return []situation{
		{"Missing: no node has it", pod(inventory.Coverage{Lacks: few(1, 13), Loaded: []string{"runc"}})},
		{"Missing: a slip of the pen", pod(inventory.Coverage{Lacks: few(1, 13), Loaded: []string{handler + "x"}})},
		{"Missing: the only node", pod(inventory.Coverage{Lacks: few(1, 2), Loaded: []string{"nvidia", "nvidia-cdi", "nvidia-legacy", "runc"}})},
		{"Missing: other nodes have it", pod(inventory.Coverage{Lacks: few(1, 3), Elsewhere: few(3, 8)})},
		{"Missing: other nodes have it, behind a taint", pod(inventory.Coverage{Lacks: few(1, 3), Elsewhere: few(3, 5), Tainted: few(3, 5), Taint: taint})},
		{"Partial", pod(inventory.Coverage{Has: few(1, 3), Lacks: few(3, 8)})},
		{"Partial: others have not told", pod(inventory.Coverage{Has: few(1, 3), Silent: few(3, 5), Stale: few(5, 6), Young: few(6, 7), Down: few(7, 8)})},
		{"Unknown: some have not told", pod(inventory.Coverage{Lacks: few(1, 3), Silent: few(3, 8)})},
		{"Unknown: the only node has not told", pod(inventory.Coverage{Stale: few(1, 2)})},
		{"Unknown: the runtime of the only node is down", pod(inventory.Coverage{Down: few(1, 2)})},
		{"Unknown: no node at all", pod(inventory.Coverage{})},
		{"Unknown: an untolerated taint leaves none", pod(inventory.Coverage{Tainted: few(1, 6), Elsewhere: few(1, 6), Taint: taint})},
		{"Unknown: the requests leave none", pod(inventory.Coverage{TooSmall: few(1, 6)})},
		{"Unknown: provisioned on demand", JudgePod(onDemand)},
		{"Unknown: nothing is told of a feature", pod(inventory.Coverage{Has: few(1, 6), Features: feature(0, inventory.CDI)})},
		{"Unknown: nothing is told of the default handler", byDefault(inventory.Coverage{Silent: few(1, 3), Stale: few(3, 4), Features: []inventory.FeatureCoverage{{Feature: inventory.CDI}, {Feature: inventory.UserNamespaces}}})},
		{"Unknown: the class could not be read", alone(gate.tellUnread(t.Context(), class, errors.New("context deadline exceeded")))},
		{"Unknown: the policies could not be read", alone(tellRuleless("research", errors.New("context deadline exceeded")))},
		{"Broken: of several kinds", pod(inventory.Coverage{Has: few(1, 6), Broken: few(1, 6), Faults: inventory.ShimMissing | inventory.TypeMissing})},
		{"Broken: nothing to start", pod(inventory.Coverage{Has: few(1, 6), Broken: few(1, 6), Faults: inventory.TypeMissing})},
		{"Broken: no OCI runtime", pod(inventory.Coverage{Has: few(1, 6), Broken: few(1, 6), Faults: inventory.BinaryMissing})},
		{"Broken: no right to run it", pod(inventory.Coverage{Has: few(1, 6), Broken: few(1, 6), Faults: inventory.BinaryNotExecutable})},
		{"Broken: the default handler", byDefault(inventory.Coverage{Has: few(1, 2), Broken: few(1, 2), Faults: inventory.ShimMissing, Standards: []string{handler}})},
		{"Broken: default handlers, of several kinds", byDefault(inventory.Coverage{Has: few(1, 6), Broken: few(1, 6), Faults: inventory.NotLoaded | inventory.BinaryMissing, Standards: []string{"crun", handler}})},
		{"Broken: the default handler is not there", byDefault(inventory.Coverage{Has: few(1, 2), Broken: few(1, 2), Faults: inventory.NotLoaded, Standards: []string{handler}})},
		{"Expiring", pod(inventory.Coverage{Has: few(1, 6), Expiring: few(1, 6)})},
		{"Expiring: its files break it", pod(inventory.Coverage{Has: few(1, 6), Expiring: few(1, 6), Breaking: few(1, 6)})},
		{"Expiring: the files of some nodes break it", pod(inventory.Coverage{Has: few(1, 6), Expiring: few(1, 6), Breaking: few(1, 2)})},
		{"Expiring: the default handler", byDefault(inventory.Coverage{Has: few(1, 6), Expiring: few(1, 6), Standards: []string{"nvidia", "runc"}})},
		{"Forbidden", ruled(handler, limits)},
		{"Forbidden: all handlers", ruled(handler, none)},
		{"Forbidden: the default handler", ruled("", limits)},
		{"Oversized", pod(inventory.Coverage{Crowded: few(1, 6)})},
		{"Oversized, and other nodes lack it", pod(inventory.Coverage{Lacks: few(6, 8), Crowded: few(1, 6)})},
		{"FeatureMissing", pod(inventory.Coverage{Has: few(1, 6), Features: feature(inventory.UserNamespaces, 0)})},
		{"FeatureMissing: several", pod(inventory.Coverage{Has: few(1, 6), Features: feature(inventory.RecursiveReadOnlyMounts|inventory.SupplementalGroupsPolicy|inventory.CDI, 0)})},
		{"FeatureMissing: the default handler", byDefault(inventory.Coverage{Has: few(1, 6), Standards: []string{"runc"}, Features: feature(inventory.UserNamespaces, 0)})},
		{"Rejected: there is no such class", alone(gate.tellUnread(t.Context(), class, notFound))},
		{"Rejected: the name of a handler", alone(gate.tellUnread(t.Context(), "nvidia-cdi", notFound))},
		{"Rejected: the class cannot be merged", alone(tellRejected(MergeClass(&corev1.PodSpec{Overhead: corev1.ResourceList{}}, overhead)))},
		{"RuntimeClass, Missing", classOf(ClassFacts{Selected: inventory.Coverage{Lacks: few(1, 13), Loaded: []string{"runc"}}})},
		{"RuntimeClass, Missing where it selects", classOf(ClassFacts{Selects: true, Selected: inventory.Coverage{Lacks: few(1, 3), Elsewhere: few(3, 8)}})},
		{"RuntimeClass, Partial", classOf(ClassFacts{Selected: inventory.Coverage{Has: few(1, 3)}, Tolerated: inventory.Coverage{Lacks: few(3, 8)}})},
		{"RuntimeClass, Unknown: it selects no node", classOf(ClassFacts{Selects: true})},
	}
}

// TestMessages writes all messages of the webhook on one page.
func TestMessages(t *testing.T) {
	var page strings.Builder
	var seen []Condition
	node := func(i int) string { return fmt.Sprintf("gpu-%02d", i) }
	for _, s := range situations(t, "nvidia-typo", "gpu", "research", node) {
		fmt.Fprintf(&page, "# %s\n", s.name)
		for _, f := range s.verdict.Findings {
			seen = append(seen, f.Condition)
			fmt.Fprintf(&page, "%s %s\n  %s\n", f.Action, f.Condition, f.Message)
			if f.Detail != f.Message {
				fmt.Fprintf(&page, "  in the audit log: %s\n", f.Detail)
			}
		}
		page.WriteByte('\n')
	}
	for _, condition := range append(policyConditions, Rejected) {
		if !slices.Contains(seen, condition) {
			t.Errorf("no message of %s", condition)
		}
	}
	const golden = "testdata/messages.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page.String()); diff != "" {
		t.Errorf("messages (-want +got; go test ./webhook -run TestMessages -update takes them):\n%s", diff)
	}
}

// Names of any length leave the point of a message readable, are never cut, and
// never make a message longer than the API server takes.
func TestMessagesOfLongNames(t *testing.T) {
	for _, length := range []int{20, 30, 63, 100, 150, 253} {
		dns := func(first string) string { return first + strings.Repeat("m", length-2) + "z" }
		node := func(i int) string { return dns(string(rune('a' + i))) }
		handler, class, policyName := dns("h"), dns("c"), dns("p")
		handler = handler[:min(len(handler), 63)]
		whole := []string{handler, class, policyName, handler + "x"}
		for i := range 20 {
			whole = append(whole, node(i))
		}
		for _, s := range situations(t, handler, class, policyName, node) {
			for _, f := range s.verdict.Findings {
				if len(f.Message) > MaxWarning {
					t.Errorf("%s, names of %d bytes: message of %d bytes: %s", s.name, length, len(f.Message), f.Message)
				}
				if strings.Contains(f.Detail, "…") || len(f.Detail) < len(f.Message)-len("…") {
					t.Errorf("%s, names of %d bytes: detail holds less than the message: %s", s.name, length, f.Detail)
				}
				for _, word := range strings.FieldsFunc(f.Message, func(r rune) bool { return strings.ContainsRune(` ",;:()?…`, r) }) {
					if strings.Contains(word, "mmmmm") && !slices.Contains(whole, word) {
						t.Errorf("%s, names of %d bytes: a name is cut: %s", s.name, length, f.Message)
					}
				}
				// A reason that the API server or a look-up gives has its own length.
				given := strings.Contains(s.name, "could not be read") || strings.Contains(s.name, "cannot be merged")
				if point, _, _ := strings.Cut(f.Message, "; "); length <= 30 && !given && len(point) > pointRoom {
					t.Errorf("%s, names of %d bytes: the point takes %d bytes: %s", s.name, length, len(point), point)
				}
			}
		}
	}
}
