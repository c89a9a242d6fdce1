package webhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/runtimegate/runtimegate/inventory"
)

func some(names ...string) inventory.Nodes {
	return inventory.Nodes{Count: len(names), Sample: names[:min(len(names), inventory.SampleSize)]}
}

func asks(handler string, coverage inventory.Coverage, known ...string) PodFacts {
	return PodFacts{Asks: []PodAsk{{Ask: Ask{Handler: handler, Class: handler}, Coverage: coverage, Known: known}}}
}

func TestJudgePod(t *testing.T) {
	gpu := asks("nvidia", inventory.Coverage{Lacks: some("n1", "n2"), Loaded: []string{"runc"}})
	lenient := gpu
	lenient.Lenient = OfDaemonSet
	onDemand := asks("nvidia", inventory.Coverage{Lacks: some("n1", "n2")})
	onDemand.Asks[0].OnDemand = true
	untrusted := asks("untrusted", inventory.Coverage{Lacks: some("n1")})
	untrusted.Asks[0].Class = ""

	tests := []struct {
		name string
		pod  PodFacts
		want []string // action, condition, message
	}{
		{"a Pod that asks for nothing passes", PodFacts{}, nil},
		{"all nodes have it", asks("nvidia", inventory.Coverage{Has: some("n1", "n2")}), nil},
		{"no node has it", gpu, []string{
			`Deny Missing handler "nvidia" (RuntimeClass "nvidia") is loaded on none of the 2 nodes this Pod may land on; loaded there: runc`}},
		{"the only node lacks it", asks("nvidia", inventory.Coverage{Lacks: some("n1")}), []string{
			`Deny Missing handler "nvidia" (RuntimeClass "nvidia") is not loaded on n1, the only node this Pod may land on`}},
		{"a slip of the pen", asks("nvidia-typo", inventory.Coverage{Lacks: some("n1", "n2"), Loaded: []string{"nvidia", "runc"}}), []string{
			`Deny Missing handler "nvidia-typo" (RuntimeClass "nvidia-typo") is loaded on none of the 2 nodes this Pod may land on; did you mean "nvidia"?`}},
		{"a slip of the pen, of a name that other nodes have", asks("nvidai", inventory.Coverage{Lacks: some("n1", "n2"), Loaded: []string{"runc"}}, "nvidia", "runc"), []string{
			`Deny Missing handler "nvidai" (RuntimeClass "nvidai") is loaded on none of the 2 nodes this Pod may land on; did you mean "nvidia"?`}},
		{"nodes have it that the Pod rules out", asks("nvidia", inventory.Coverage{Lacks: some("n1", "n2"), Elsewhere: some("g1", "g2", "g3", "g4"), Loaded: []string{"runc"}}), []string{
			`Deny Missing handler "nvidia" (RuntimeClass "nvidia") is loaded on none of the 2 nodes this Pod may land on; it is loaded on g1, g2, g3 and 1 more, ruled out by nodeName, selector, affinity, taints or size`}},
		{"some have it", asks("nvidia", inventory.Coverage{Has: some("g1", "g2"), Lacks: some("n1")}), []string{
			`Warn Partial handler "nvidia" (RuntimeClass "nvidia") is loaded on 2 of the 3 nodes this Pod may land on; has it: g1, g2; lacks it: n1; add a nodeSelector for nodes that have it`}},
		{"some have it, another has not told", asks("nvidia", inventory.Coverage{Has: some("g1"), Silent: some("n1"), Stale: some("n2"), Young: some("n3")}), []string{
			`Warn Partial handler "nvidia" (RuntimeClass "nvidia") is loaded on 1 of the 4 nodes this Pod may land on; has it: g1; no report from n1; report too old: n2; new, may still be installing: n3; add a nodeSelector for nodes that have it`}},
		{"the runtime of all that had it is down", asks("nvidia", inventory.Coverage{Lacks: some("n1"), Down: some("n2")}), []string{
			`Warn Unknown handler "nvidia" (RuntimeClass "nvidia") is not known to be loaded on any of the 2 nodes this Pod may land on; no answer from the runtime of n2: its handlers are not known until it is back; lacks it: n1`}},
		{"where others have it, a runtime that is down is no reason to warn", asks("nvidia", inventory.Coverage{Has: some("n1"), Down: some("n2")}), nil},
		{"one that has not told is enough not to deny", asks("nvidia", inventory.Coverage{Lacks: some("n1", "n2"), Silent: some("n3")}), []string{
			`Warn Unknown handler "nvidia" (RuntimeClass "nvidia") is not known to be loaded on any of the 3 nodes this Pod may land on; no report from n3; lacks it: n1, n2`}},
		{"no node at the moment", asks("nvidia", inventory.Coverage{}), []string{
			`Warn Unknown handler "nvidia" (RuntimeClass "nvidia") is not known to be loaded: there is no node this Pod may land on now`}},
		{"an untolerated taint leaves none", asks("gvisor", inventory.Coverage{Tainted: some("g1"), Elsewhere: some("g1"), Taint: corev1.Taint{Key: "sandbox", Effect: corev1.TaintEffectNoSchedule}}), []string{
			`Warn Unknown handler "gvisor" (RuntimeClass "gvisor") is not known to be loaded: there is no node this Pod may land on now; g1: taint sandbox:NoSchedule is not tolerated`}},
		{"nodes are made on demand", onDemand, []string{
			`Warn Unknown handler "nvidia" (RuntimeClass "nvidia") is loaded on none of the 2 nodes this Pod may land on; its nodes are provisioned on demand`}},
		{"a Pod of a DaemonSet is never denied", lenient, []string{
			`Warn Missing handler "nvidia" (RuntimeClass "nvidia") is loaded on none of the 2 nodes this Pod may land on; loaded there: runc`}},
		{"the annotation means nothing to CRI-O", untrusted, []string{
			`Warn Missing handler "untrusted" (untrusted-workload annotation) is not loaded on n1, the only node this Pod may land on`}},
		{"its programs are missing wherever it is loaded", asks("kata", inventory.Coverage{Has: some("n1"), Broken: some("n1"), Faults: inventory.ShimMissing}), []string{
			`Warn Broken handler "kata" (RuntimeClass "kata") is loaded, but its sandboxes cannot start: its shim is missing; nodes: n1; kubectl get noderuntimes -o yaml says what is missing`}},
		{"one node that can run it is enough", asks("kata", inventory.Coverage{Has: some("n1", "n2"), Broken: some("n1")}), nil},
		{"gone at the next restart, and not everywhere", asks("nvidia", inventory.Coverage{Has: some("g1"), Expiring: some("g1"), Lacks: some("n1")}), []string{
			`Warn Expiring handler "nvidia" (RuntimeClass "nvidia") is loaded, but the next restart of the runtime takes it away; nodes: g1; mend the files before; kubectl get noderuntimes -o yaml names them`,
			`Warn Partial handler "nvidia" (RuntimeClass "nvidia") is loaded on 1 of the 2 nodes this Pod may land on; has it: g1; lacks it: n1; add a nodeSelector for nodes that have it`}},
		{"with the overhead it fits no node", asks("kata", inventory.Coverage{Crowded: some("k1")}), []string{
			`Warn Oversized the overhead of RuntimeClass "kata" leaves this Pod no node with handler "kata"; without it there is room on k1; lower the requests, or overhead.podFixed of the class`}},
		{"it fits nodes that lack it, and with the overhead none that has it", asks("kata", inventory.Coverage{Lacks: some("n1", "n2"), Crowded: some("k1")}), []string{
			`Deny Missing handler "kata" (RuntimeClass "kata") is loaded on none of the 2 nodes this Pod may land on`,
			`Warn Oversized the overhead of RuntimeClass "kata" leaves this Pod no node with handler "kata"; without it there is room on k1; lower the requests, or overhead.podFixed of the class`}},
		{"a new node may lose its taints", asks("kata", inventory.Coverage{Lacks: some("n1", "n2"), Settling: some("k1"), Loaded: []string{"runc"}}), []string{
			`Warn Unknown handler "kata" (RuntimeClass "kata") is loaded on none of the 2 nodes this Pod may land on; new, may still lose its taints: k1; loaded there: runc`}},
		{"one node with room is enough", asks("kata", inventory.Coverage{Has: some("k2"), Crowded: some("k1")}), nil},
		{"a feature that no node offers", asks("kata", inventory.Coverage{Has: some("n1"), Features: []inventory.FeatureCoverage{{Feature: inventory.UserNamespaces, Lacks: some("n1")}}}), []string{
			`Warn FeatureMissing handler "kata" (RuntimeClass "kata") does not offer user namespaces (hostUsers: false); no user namespaces on n1; use a handler or nodes that do, or leave the field out`}},
		{"a feature that one node offers", asks("kata", inventory.Coverage{Has: some("n1", "n2"), Features: []inventory.FeatureCoverage{{Feature: inventory.UserNamespaces, Has: some("n1"), Lacks: some("n2")}}}), nil},
		{"a feature that one node may offer", asks("kata", inventory.Coverage{Has: some("n1", "n2"), Features: []inventory.FeatureCoverage{{Feature: inventory.CDI, Unknown: some("n1"), Lacks: some("n2")}}}), []string{
			`Warn Unknown handler "kata" (RuntimeClass "kata") is not known to offer CDI devices (resourceClaims); no word of CDI devices from n1`}},
		{"the default handler, of which nothing is known", asks("", inventory.Coverage{Silent: some("n1", "n2")}), nil},
		{"a feature of the default handler, of which nothing is known", asks("", inventory.Coverage{Silent: some("n1"), Young: some("n2"), Features: []inventory.FeatureCoverage{{Feature: inventory.UserNamespaces}}}), []string{
			`Warn Unknown the default handler is not known to offer user namespaces (hostUsers: false); no report from n1; new, may still be installing: n2`}},
		{"a feature of the default handler, with no node at the moment", asks("", inventory.Coverage{Features: []inventory.FeatureCoverage{{Feature: inventory.UserNamespaces}}}), nil},
		{"the default handler, broken on one of two nodes", asks("", inventory.Coverage{Has: some("n1", "n2"), Broken: some("n1")}), nil},
		{"the default handler, broken on the only node", asks("", inventory.Coverage{Has: some("n1"), Broken: some("n1"), Faults: inventory.BinaryMissing, Standards: []string{"nvidia"}}), []string{
			`Warn Broken default handler "nvidia" cannot start sandboxes: its OCI runtime is missing; nodes: n1; every Pod without a RuntimeClass fails there; kubectl get noderuntimes -o yaml says what is missing`}},
	}
	// A policy may deny what is Broken, Oversized or FeatureMissing: but not while
	// another node may run the Pod.
	harsh := Rules{policies: []*Policy{policy(t, "harsh", "{namespaceSelector: {}, actions: {Broken: Deny, Oversized: Deny, FeatureMissing: Deny, Partial: Warn}}")}}
	for _, coverage := range []inventory.Coverage{
		{Has: some("n1"), Broken: some("n1")},
		{Crowded: some("n1")},
		{Has: some("n1"), Features: []inventory.FeatureCoverage{{Feature: inventory.UserNamespaces, Lacks: some("n1")}}},
	} {
		facts := asks("kata", coverage)
		facts.Rules = harsh
		if verdict := JudgePod(facts); verdict.Action() != Deny {
			t.Errorf("all is known: %v", tell(verdict))
		}
		facts.Asks[0].Silent = some("n2")
		if verdict := JudgePod(facts); verdict.Action() != Warn {
			t.Errorf("one has not told: %v", tell(verdict))
		}
	}
	// Nor while a node with room for it may come, or lose its taints: no other has any.
	for what, change := range map[string]func(*PodAsk){
		"nodes are made on demand":       func(a *PodAsk) { a.OnDemand = true },
		"a new node may lose its taints": func(a *PodAsk) { a.Settling = some("n3") },
	} {
		for _, coverage := range []inventory.Coverage{{Crowded: some("n1")}, {Crowded: some("n1"), Lacks: some("n2")}} {
			facts := asks("kata", coverage)
			facts.Rules = harsh
			change(&facts.Asks[0])
			if verdict := JudgePod(facts); verdict.Action() != Warn {
				t.Errorf("%s: %v", what, tell(verdict))
			}
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tell(JudgePod(tt.pod))); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func tell(verdict Verdict) []string {
	var told []string
	for _, f := range verdict.Findings {
		told = append(told, fmt.Sprintf("%s %s %s", f.Action, f.Condition, f.Message))
	}
	return told
}

func TestJudgeClass(t *testing.T) {
	tests := []struct {
		name    string
		class   ClassFacts
		missing Action
		want    []string
	}{
		{"all nodes have it", ClassFacts{Selected: inventory.Coverage{Has: some("n1")}, Tolerated: inventory.Coverage{Has: some("n1")}}, Warn, nil},
		{"no node has it", ClassFacts{Selected: inventory.Coverage{Lacks: some("n1", "n2")}}, Warn, []string{
			`Warn Missing handler "nvidia" (RuntimeClass "gpu") is loaded on none of the 2 nodes of this cluster`}},
		{"no node has it, and that is to be rejected", ClassFacts{Selected: inventory.Coverage{Lacks: some("n1", "n2")}}, Deny, []string{
			`Deny Missing handler "nvidia" (RuntimeClass "gpu") is loaded on none of the 2 nodes of this cluster`}},
		{"what is not known is never rejected", ClassFacts{Selected: inventory.Coverage{Lacks: some("n1"), Silent: some("n2")}}, Deny, []string{
			`Warn Unknown handler "nvidia" (RuntimeClass "gpu") is not known to be loaded on any of the 2 nodes of this cluster; no report from n2; lacks it: n1`}},
		{"its nodes lack it", ClassFacts{Selects: true, Selected: inventory.Coverage{Lacks: some("n1"), Elsewhere: some("g1")}}, Warn, []string{
			`Warn Missing handler "nvidia" (RuntimeClass "gpu") is not loaded on n1, the only node its nodeSelector picks; it is loaded on g1, ruled out by its nodeSelector`}},
		{"tainted nodes that lack it get no Pods unasked", ClassFacts{
			Selected:  inventory.Coverage{Has: some("g1"), Lacks: some("master")},
			Tolerated: inventory.Coverage{Has: some("g1")}}, Warn, nil},
		{"tainted nodes have it, untainted ones lack it", ClassFacts{
			Selected:  inventory.Coverage{Has: some("g1"), Lacks: some("n1")},
			Tolerated: inventory.Coverage{Lacks: some("n1")}}, Warn, []string{
			`Warn Partial handler "nvidia" (RuntimeClass "gpu") is loaded on 1 of the 2 nodes of this cluster; has it: g1; lacks it: n1; set scheduling.nodeSelector to nodes that have it`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.class.Ask = Ask{Handler: "nvidia", Class: "gpu"}
			if diff := cmp.Diff(tt.want, tell(JudgeClass(tt.class, tt.missing))); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// kubectl shows no warning that has a control character in it.
func TestMessagesArePrintable(t *testing.T) {
	pod := asks("nvidia", inventory.Coverage{Lacks: some("n1"), Loaded: []string{"a\nb", "\x1b[31mred"}})
	for _, f := range JudgePod(pod).Findings {
		if strings.ContainsAny(f.Message+f.Detail, "\n\x1b") || !strings.Contains(f.Message, "a?b") {
			t.Errorf("%q", f.Message)
		}
	}
}

func TestVerdictAnswer(t *testing.T) {
	pod := asks("a", inventory.Coverage{Lacks: some("n1")})
	pod.Asks = append(pod.Asks, asks("b", inventory.Coverage{Has: some("n1"), Lacks: some("n2")}).Asks...)
	verdict := JudgePod(pod)
	response := respond(verdict)
	if response.Allowed || response.Result.Code != 403 || !strings.HasPrefix(response.Result.Message, `handler "a"`) {
		t.Errorf("the strictest finding decides: %+v", response)
	}
	if len(response.Warnings) != 1 || !strings.HasPrefix(response.Warnings[0], `handler "b"`) {
		t.Errorf("the other is told all the same: %q", response.Warnings)
	}
	if got := response.AuditAnnotations["condition"]; got != "Missing,Partial" {
		t.Errorf("audit annotation: %q", got)
	}
	if answer := respond(JudgePod(PodFacts{})); !answer.Allowed || answer.Warnings != nil || answer.AuditAnnotations != nil || answer.Result != nil {
		t.Errorf("an answer with nothing to say says something: %+v", answer)
	}
}
