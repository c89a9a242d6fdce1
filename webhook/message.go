package webhook

import (
	"fmt"
	"strings"

	"github.com/runtimegate/runtimegate/inventory"
)

// pointRoom is how long the point of a message may be, in bytes: kubectl users
// see the start of a long line only.
const pointRoom = 120

// A subject says in messages what was asked about.
type subject struct {
	who    string // "this Pod"
	where  string // which nodes: "this Pod may land on"
	narrow string // what to do so that only nodes with the handler are left
	out    string // what may keep a Pod off a node
}

// anything may keep a Pod off a node.
const anything = "nodeName, selector, affinity, taints or size"

var (
	podSubject            = subject{"this Pod", "this Pod may land on", "add a nodeSelector for nodes that have it", anything}
	templateSubject       = subject{"its Pods", "its Pods may land on", "add a nodeSelector for nodes that have it", anything}
	classSubject          = subject{"its Pods", "of this cluster", "set scheduling.nodeSelector to nodes that have it", "its nodeSelector"}
	selectingClassSubject = subject{"its Pods", "its nodeSelector picks", "narrow that to nodes that have it", "its nodeSelector"}
)

// A part is a piece of a message in several wordings, the longest first.
type part []string

// say is a part of one wording; "" says nothing.
func say(text string) part {
	if text == "" {
		return nil
	}
	return part{text}
}

// list is a part that names nodes, as many as there is room for.
func list(before string, all inventory.Nodes, after string) part {
	if all.Count == 0 {
		return nil
	}
	var wordings part
	for named := len(all.Sample); named > 0; named-- {
		fewer := inventory.Nodes{Count: all.Count, Sample: all.Sample[:named]}
		wordings = append(wordings, before+fewer.String()+after)
	}
	return append(wordings, before+nodes(all.Count)+after)
}

// finding makes a finding of what it says first, the point, and of what follows.
// The message leaves out whole parts where there is no room, never half of a
// name; the detail leaves out nothing.
func finding(condition Condition, point part, rest ...part) *Finding {
	detail := point[0]
	message := point[len(point)-1]
	for _, wording := range point {
		if len(wording) <= pointRoom {
			message = wording
			break
		}
	}
	for _, p := range rest {
		if len(p) > 0 {
			detail += "; " + p[0]
		}
	}
	return &Finding{Condition: condition, Message: fit(message, rest...), Detail: detail}
}

// fit adds to a message the parts for which MaxWarning has room, each in the
// longest wording that fits.
func fit(message string, rest ...part) string {
	for _, p := range rest {
		for _, wording := range p {
			if len(message)+len("; ")+len(wording) <= MaxWarning {
				message += "; " + wording
				break
			}
		}
	}
	return message
}

// tell makes the finding for a condition: the message says the point first,
// then the nodes, then what to do.
func (s subject) tell(condition Condition, a *PodAsk) *Finding {
	switch condition {
	case Missing:
		return finding(condition, s.nowhere(a), s.hint(a))
	case Partial:
		return finding(condition, a.point("is loaded on %d of the %s %s", a.Has.Count, nodes(a.Candidates()), s.where), append(append([]part{
			list("has it: ", a.Has, ""), list("lacks it: ", a.Lacks, "")}, a.ignorance()...), say(s.narrow))...)
	case Broken:
		if a.isDefault() {
			return finding(condition, a.point("cannot start sandboxes: %s", faultText(a.Faults)), list("nodes: ", a.Broken, ""),
				say("every Pod without a RuntimeClass fails there"), say("kubectl get noderuntimes -o yaml says what is missing"))
		}
		return finding(condition, a.point("is loaded, but its sandboxes cannot start: %s", faultText(a.Faults)),
			list("nodes: ", a.Broken, ""), say("kubectl get noderuntimes -o yaml says what is missing"))
	case Expiring:
		return finding(condition, a.point("is loaded, but %s", a.expires()),
			list("nodes: ", a.Expiring, ""), say("mend the files before; kubectl get noderuntimes -o yaml names them"))
	case Oversized:
		return finding(condition, part{
			fmt.Sprintf("the overhead of RuntimeClass %q leaves %s no node with handler %q", a.Class, s.who, a.Handler),
			fmt.Sprintf("the overhead of its RuntimeClass leaves %s no node with handler %q", s.who, a.Handler),
		}, list("without it there is room on ", a.Crowded, ""), say("lower the requests, or overhead.podFixed of the class"))
	case FeatureMissing:
		return featureMissing(a)
	}
	return s.unknown(a)
}

// faults are what each fault is called in a message.
var faults = []struct {
	fault inventory.Faults
	text  string
}{
	{inventory.NotLoaded, "it is not loaded"},
	{inventory.TypeMissing, "it has no runtime_type"},
	{inventory.ShimMissing, "its shim is missing"},
	{inventory.ShimNotExecutable, "its shim is not executable"},
	{inventory.BinaryMissing, "its OCI runtime is missing"},
	{inventory.BinaryNotExecutable, "its OCI runtime is not executable"},
}

// faultText says what keeps a handler from starting sandboxes. Of several nodes each
// may have a fault of its own.
func faultText(all inventory.Faults) string {
	var texts []string
	for _, f := range faults {
		if all&f.fault != 0 {
			texts = append(texts, f.text)
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	if all&inventory.NotLoaded != 0 {
		return "it is not loaded, or programs or runtime_type are missing"
	}
	return "programs or runtime_type missing"
}

// expires says what the next start of a runtime does to a handler.
func (a *PodAsk) expires() string {
	switch a.Breaking.Count {
	case 0:
		return "the next restart of the runtime takes it away"
	case a.Expiring.Count:
		return "the next restart of the runtime breaks it"
	}
	return "the next restart of the runtime takes it away or breaks it"
}

// nowhere says that all nodes lack the handler.
func (s subject) nowhere(a *PodAsk) part {
	if a.Candidates() == 1 {
		return append(a.point("is not loaded on %s, the only node %s", a.Lacks, s.where), a.point("is not loaded on the only node %s", s.where)...)
	}
	return a.point("is loaded on none of the %s %s", nodes(a.Candidates()), s.where)
}

func (s subject) unknown(a *PodAsk) *Finding {
	switch {
	case a.Has.Count > 0 || a.isDefault():
		return featureUnknown(a)
	case a.Candidates() == 0:
		hint := a.kept()
		if hint == nil {
			hint = s.hint(a)
		}
		point := a.point("is not known to be loaded: there is no node %s now", s.where)
		return finding(Unknown, point, hint)
	case a.OnDemand && a.Unknown() == 0:
		return finding(Unknown, s.nowhere(a), say("its nodes are provisioned on demand"))
	case a.Unknown() == 0: // some are settling
		return finding(Unknown, s.nowhere(a), append(a.ignorance(), s.hint(a))...)
	}
	point := a.point("is not known to be loaded on any of the %s %s", nodes(a.Candidates()), s.where)
	if a.Candidates() == 1 {
		point = a.point("is not known to be loaded on the only node %s", s.where)
	}
	return finding(Unknown, point, append(a.ignorance(), list("lacks it: ", a.Lacks, ""), s.hint(a))...)
}

// featureTexts name each feature and the field that needs it.
var featureTexts = map[inventory.Features]struct{ name, field string }{
	inventory.UserNamespaces:           {"user namespaces", "hostUsers: false"},
	inventory.RecursiveReadOnlyMounts:  {"recursive read-only mounts", "recursiveReadOnly: Enabled"},
	inventory.SupplementalGroupsPolicy: {"strict groups", "supplementalGroupsPolicy: Strict"},
	inventory.CDI:                      {"CDI devices", "resourceClaims"},
}

func featureMissing(a *PodAsk) *Finding {
	names, parts := a.featureParts(inventory.FeatureCoverage.IsMissing, "no %s on ", func(f *inventory.FeatureCoverage) inventory.Nodes { return f.Lacks })
	return finding(FeatureMissing, a.point("does not offer %s", names), append(parts, say("use a handler or nodes that do, or leave the field out"))...)
}

func featureUnknown(a *PodAsk) *Finding {
	if a.Has.Count == 0 { // no word of anything
		names, _ := a.featureParts(func(inventory.FeatureCoverage) bool { return true }, "", func(*inventory.FeatureCoverage) (none inventory.Nodes) { return })
		return finding(Unknown, a.point("is not known to offer %s", names), a.ignorance()...)
	}
	names, parts := a.featureParts(inventory.FeatureCoverage.IsUnknown, "no word of %s from ", func(f *inventory.FeatureCoverage) inventory.Nodes { return f.Unknown })
	return finding(Unknown, a.point("is not known to offer %s", names), parts...)
}

// featureParts names the features for which something is so, and where.
func (a *PodAsk) featureParts(is func(inventory.FeatureCoverage) bool, where string, on func(*inventory.FeatureCoverage) inventory.Nodes) (names string, parts []part) {
	var all []string
	var field string
	for i := range a.Features {
		if f := &a.Features[i]; is(*f) {
			text := featureTexts[f.Feature]
			all, field = append(all, text.name), text.field
			parts = append(parts, list(fmt.Sprintf(where, text.name), on(f), ""))
		}
	}
	if len(all) == 1 {
		return all[0] + " (" + field + ")", parts
	}
	return strings.Join(all, ", "), parts
}

// forbid makes the finding for a handler that a policy does not allow.
func (s subject) forbid(a *PodAsk, policy *Policy, action Action) *Finding {
	f := finding(Forbidden, append(a.point("is not allowed in this namespace by RuntimePolicy %q", policy.Name), a.point("is not allowed in this namespace")...),
		policy.choice("allowed: ", "it allows no handler"))
	f.Action, f.Policy = action, policy.Name
	return f
}

// forbidDefault makes the finding for a Pod that names no class where a policy
// asks for one.
func (s subject) forbidDefault(policy *Policy, action Action) *Finding {
	f := finding(Forbidden, part{
		fmt.Sprintf("a runtimeClassName is required in this namespace by RuntimePolicy %q", policy.Name),
		"a runtimeClassName is required in this namespace",
	}, policy.choice("allowed handlers: ", ""))
	f.Action, f.Policy = action, policy.Name
	return f
}

// choice lists what a policy allows, or says otherwise.
func (p *Policy) choice(before, otherwise string) part {
	if len(p.allowed) == 0 {
		return say(otherwise)
	}
	return part{before + first(p.allowed), before + first(p.allowed[:1])}
}

// first lists the first few names.
func first(names []string) string {
	if more := len(names) - inventory.SampleSize; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:inventory.SampleSize], ", "), more)
	}
	return strings.Join(names, ", ")
}

// point says something of a handler, and who asks for it where there is room.
func (a *PodAsk) point(format string, args ...any) part {
	said := " " + fmt.Sprintf(format, args...)
	switch {
	case a.isDefault() && len(a.Standards) == 1:
		return part{fmt.Sprintf("default handler %q", a.Standards[0]) + said, "the default handler" + said}
	case a.isDefault():
		return part{"the default handler" + said}
	case a.Class == "":
		return part{fmt.Sprintf("handler %q (untrusted-workload annotation)", a.Handler) + said, fmt.Sprintf("handler %q", a.Handler) + said}
	}
	return part{fmt.Sprintf("handler %q (RuntimeClass %q)", a.Handler, a.Class) + said, fmt.Sprintf("handler %q", a.Handler) + said}
}

// hint says what is probably wrong, or what there is instead.
func (s subject) hint(a *PodAsk) part {
	if a.Elsewhere.Count > 0 {
		if a.Tainted.Count == a.Elsewhere.Count {
			return a.kept()
		}
		return list("it is loaded on ", a.Elsewhere, ", ruled out by "+s.out)
	}
	if name := a.nearest(); name != "" {
		return say(fmt.Sprintf("did you mean %q?", name))
	}
	if len(a.Loaded) == 0 {
		return nil
	}
	return say("loaded there: " + first(a.Loaded))
}

// ignorance says why it is not known whether nodes have the handler.
func (a *PodAsk) ignorance() []part {
	return []part{
		list("no report from ", a.Silent, ""),
		list("report too old: ", a.Stale, ""),
		list("no answer from the runtime of ", a.Down, ": its handlers are not known until it is back"),
		list("new, may still be installing: ", a.Young, ""),
		list("new, may still lose its taints: ", a.Settling, ""),
	}
}

// kept says what keeps the Pod off nodes that it selects.
func (a *PodAsk) kept() part {
	switch {
	case a.Tainted.Count > 0:
		return list("", a.Tainted, ": "+a.taints())
	case a.MaybeTainted.Count > 0:
		return list("", a.MaybeTainted, ": "+a.taints())
	case a.TooSmall.Count > 0:
		return list("too small for its requests: ", a.TooSmall, "")
	}
	return nil
}

func (a *PodAsk) taints() string {
	if a.SeveralTaints {
		return fmt.Sprintf("taints such as %s are not tolerated", a.Taint.ToString())
	}
	return fmt.Sprintf("taint %s is not tolerated", a.Taint.ToString())
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
