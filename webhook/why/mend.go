package why

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook"
	"github.com/runtimegate/runtimegate/webhook/kubeletevents"
	"github.com/runtimegate/runtimegate/webhook/remedy"
)

func (a *asker) plan(steps ...remedy.Step) { a.plans = append(a.plans, steps) }

// change plans a step that changes what asks for the handler.
func (a *asker) change(do string, run ...string) {
	a.plan(remedy.Step{Phase: remedy.Change, Do: do, Run: run})
}

// mend plans what mends a finding of the verdict.
func (a *asker) mend(ctx context.Context, f *webhook.Finding) {
	if f.Action == webhook.Allow {
		return
	}
	switch f.Condition {
	case webhook.Rejected:
		a.mendRejected(ctx, f)
	case webhook.Forbidden:
		a.change(fmt.Sprintf("Use what RuntimePolicy %q allows, or have whoever owns it allow more.", f.Policy), "kubectl get runtimepolicy "+f.Policy+" -o yaml")
	case webhook.Missing:
		a.mendLacking(ctx)
	case webhook.Partial:
		a.mendPartial()
	case webhook.Unknown:
		a.mendUnknown(ctx, f)
	case webhook.Broken:
		a.mendGroups(inventory.Broken)
	case webhook.Expiring:
		a.mendGroups(inventory.Expiring)
	case webhook.Oversized:
		a.change(fmt.Sprintf("Lower the requests of the Pod, or overhead.podFixed of RuntimeClass %q, or add larger nodes: without the overhead there is room on %s.", a.chain.ClassName, a.chain.Ask.Crowded),
			"kubectl get runtimeclass "+a.chain.ClassName+" -o jsonpath='{.overhead.podFixed}'")
	case webhook.FeatureMissing:
		a.change("Use a handler or nodes that offer it, or leave the field out of the Pod.",
			"kubectl get nruntime -o jsonpath='{range .items[*]}{.metadata.name} {.spec.handlers}{\"\\n\"}{end}'")
	}
}

// mendRejected is for what the API server or containerd refuses.
func (a *asker) mendRejected(ctx context.Context, f *webhook.Finding) {
	c := a.chain
	switch {
	case len(a.Refused.Findings) > 0:
		a.change("A handler cannot be changed: delete the class, then make it anew. Until then its Pods are rejected.",
			"kubectl delete runtimeclass "+c.ClassName, "kubectl apply -f …")
	case c.ClassName != "" && c.Class == nil && c.Unread == nil:
		if near := a.gate.NearClasses(ctx, c.ClassName); near != "" {
			a.change(fmt.Sprintf("There is no RuntimeClass %q: %s.", c.ClassName, strings.TrimSuffix(near, "?")), "kubectl get runtimeclasses")
			return
		}
		a.change(fmt.Sprintf("Make RuntimeClass %q, with a handler that nodes have loaded, or use one that is there.", c.ClassName), "kubectl get runtimeclasses", "kubectl get nruntime")
	default:
		a.change("Make the Pod and its RuntimeClass agree: "+f.Detail+".", "kubectl get runtimeclass "+c.ClassName+" -o yaml")
	}
}

// mendLacking is for nodes that lack the handler, where all do.
func (a *asker) mendLacking(ctx context.Context) {
	known := false
	for _, g := range a.groups {
		if g.Place == fleet.Candidate && g.Loaded == fleet.No {
			known = a.mendFindings(g) || known
		}
	}
	if known {
		return
	}
	a.offer(ctx)
}

// offer plans what there is to do where no file has a trace of the handler.
func (a *asker) offer(ctx context.Context) {
	c, ask := a.chain, &a.chain.Ask
	if near := c.Nearest(); near != "" {
		a.mendName(ctx, near)
		return
	}
	if a.isOfDaemonSet() {
		a.keepOff()
	} else if a.elsewhere(ctx) {
		return
	}
	for _, g := range a.groups {
		if g.Place != fleet.Candidate || g.Loaded == fleet.Yes {
			continue
		}
		if strings.HasPrefix(g.Runtime, "docker") {
			a.change(fmt.Sprintf("Use nodes with containerd or CRI-O: Docker, on %s, has the handler \"docker\" and, with newer cri-dockerd, the runtimes of its daemon.json; no file of containerd or CRI-O makes it run %q.", g.Sample(), ask.Handler))
			continue
		}
		a.plans = append(a.plans, remedy.Absent(site(g, ask.Handler)))
	}
	if len(ask.Loaded) > 0 {
		a.change(fmt.Sprintf("Or use a RuntimeClass whose handler is loaded there: %s.", strings.Join(ask.Loaded, ", ")), "kubectl get runtimeclasses")
	}
}

// mendName is for a name that was mistyped, in the class or by whoever made it.
func (a *asker) mendName(ctx context.Context, near string) {
	var classes []string
	for _, class := range a.gate.Classes(ctx) {
		if class.Handler == near {
			classes = append(classes, fmt.Sprintf("%q", class.Name))
		}
	}
	if len(classes) > 0 {
		a.change(fmt.Sprintf("Did you mean handler %q? RuntimeClass %s names it: use that class.", near, strings.Join(classes, ", ")))
	}
	a.change(fmt.Sprintf("If RuntimeClass %q was to name handler %q: a handler cannot be changed, so delete the class and make it anew.", a.chain.ClassName, near),
		"kubectl delete runtimeclass "+a.chain.ClassName, "kubectl apply -f …")
}

// elsewhere plans how to reach nodes that have the handler, and that the Pod may
// not land on.
func (a *asker) elsewhere(ctx context.Context) bool {
	ask := &a.chain.Ask
	switch {
	case ask.Tainted.Count > 0:
		a.change(fmt.Sprintf("Tolerate the taint %s, %s: the handler is on %s.", ask.Taint.ToString(), a.tolerationsAt(), ask.Tainted))
	case a.chain.Bound != "" && a.chain.Anew.Has.Count > 0:
		return a.rebind(ctx)
	case ask.Elsewhere.Count > 0:
		a.change(fmt.Sprintf("Let the Pod land where the handler is, on %s: nodeName, selector, affinity, taints or size keep it off.", ask.Elsewhere))
	default:
		return false
	}
	return true
}

// mendPartial is for nodes of which some have the handler. Nodes that are to be
// mended need not be kept out.
func (a *asker) mendPartial() {
	lacking, mended := 0, 0
	for _, g := range a.groups {
		if g.Place == fleet.Candidate && g.Loaded == fleet.No {
			lacking++
			if a.mendFindings(g) {
				mended++
			}
		}
	}
	if lacking == 0 || mended < lacking {
		a.narrow(a.chain.Ask.Coverage)
	}
	a.mendSilent()
}

// narrow plans a nodeSelector that leaves only nodes with the handler.
func (a *asker) narrow(c inventory.Coverage) {
	labels := a.fleet.Labels(a.chain.Ask.Handler)
	if set := a.daemonSet(); set != "" {
		a.change(fmt.Sprintf("%s as nodeSelector in the template of DaemonSet %q: its controller does not look at the nodeSelector of RuntimeClass %q, and makes Pods for other nodes, too.", upper(a.only(labels)), set, a.chain.ClassName),
			fmt.Sprintf("kubectl edit daemonset %s -n %s", set, a.About.Namespace))
		return
	}
	if len(labels) == 0 {
		a.change(fmt.Sprintf("Label the nodes that have the handler (%s), and set that label as scheduling.nodeSelector of RuntimeClass %q.", c.Has, a.chain.ClassName),
			fmt.Sprintf("kubectl label node %s handler.runtimegate.io/%s=true", strings.Join(c.Has.Sample, " "), a.chain.Ask.Handler))
		return
	}
	a.change(fmt.Sprintf("Set scheduling.nodeSelector of RuntimeClass %q, or %s, to what only nodes with the handler are labelled: %s.", a.chain.ClassName, a.selectorOf(), strings.Join(labels, ", or ")))
}

// mendUnknown is for what nobody knows.
func (a *asker) mendUnknown(ctx context.Context, f *webhook.Finding) {
	ask := &a.chain.Ask
	switch {
	case a.chain.Unread != nil:
		a.plan(remedy.Step{Phase: remedy.Look, Do: upper(f.Detail) + "."})
		return
	case a.chain.Placement == nil:
		return
	case a.chain.Ask.OnDemand && ask.Unknown() == 0:
		a.plan(remedy.Step{Phase: remedy.Look, Do: "Nodes with the handler are made when Pods ask for them: wait for one, and see that its pool still makes it.", Run: []string{"kubectl get nodes --sort-by=.metadata.creationTimestamp"}})
	case ask.Candidates() == 0 && a.elsewhere(ctx):
	case ask.Candidates() == 0 && ask.MaybeTainted.Count > 0:
		a.change(fmt.Sprintf("Tolerate the taint %s, %s, if it is to run on %s.", ask.Taint.ToString(), a.tolerationsAt(), ask.MaybeTainted))
	case ask.Candidates() == 0:
		a.noNode()
	case ask.Settling.Count > 0 && ask.Unknown() == 0:
		a.plan(remedy.Step{Phase: remedy.Look, Do: fmt.Sprintf("Wait until the new nodes have settled: %s.", ask.Settling), Run: []string{"kubectl get nodes --sort-by=.metadata.creationTimestamp"}})
	}
	a.mendSilent()
}

// noNode is for a Pod that no node may run.
func (a *asker) noNode() {
	if a.chain.Ask.TooSmall.Count > 0 {
		a.change(fmt.Sprintf("Lower the requests of the Pod, or add larger nodes: only the size of %s keeps it off.", a.chain.Ask.TooSmall))
		return
	}
	a.change("No node may run it now: correct its nodeSelector or affinity, or label nodes; or wait until its pool grows.", "kubectl get nodes --show-labels")
}

// mendSilent plans how to get word of nodes that have not told, and what mends those
// that count as unknown though they have.
func (a *asker) mendSilent() {
	for _, g := range a.groups {
		if g.Place == fleet.Candidate && (g.Loaded == fleet.NotKnown || g.Doubt != "") {
			a.mendUntold(g)
		}
	}
}

func (a *asker) mendUntold(g *fleet.Group) {
	known := a.mendFindings(g)
	switch s := site(g, a.chain.Ask.Handler); {
	case g.Down:
	case known && g.Doubt == inventory.Young:
		a.plans = append(a.plans, remedy.ForYoung(s))
	case !known:
		a.plans = append(a.plans, remedy.ForSilence(g.Doubt, s))
	}
}

// mendGroups plans what mends nodes of a state.
func (a *asker) mendGroups(state inventory.HandlerState) {
	for _, g := range a.groups {
		if g.Place == fleet.Candidate && g.State == state && !a.mendFindings(g) && state == inventory.Broken {
			a.plans = append(a.plans, remedy.ForFinding(v1alpha1.Finding{Code: v1alpha1.FindingBroken, Handler: a.chain.Ask.Handler}, site(g, a.chain.Ask.Handler)))
		}
	}
}

// mendFindings plans what mends the findings of a group; false if it has none that
// matter.
func (a *asker) mendFindings(g *fleet.Group) bool {
	any := false
	for _, f := range g.Findings {
		if f.Severity != v1alpha1.SeverityInfo {
			any = true
			a.plans = append(a.plans, remedy.ForFinding(f, site(g, cmp.Or(f.Handler, a.chain.Ask.Handler))))
		}
	}
	return any
}

// mendByEvents plans what the Events ask for, where the inventory knows of nothing.
func (a *asker) mendByEvents() {
	for i, m := range a.meanings {
		if isJudged(m.Cause) || a.answer.Events[i].Past {
			continue
		}
		handler := cmp.Or(m.Handler, a.chain.Ask.Handler)
		s := remedy.Site{Handler: handler}
		node := cmp.Or(a.answer.Events[i].Node, a.chain.Bound)
		if n := a.fleet.Node(node); n != nil {
			s = site(&fleet.Group{Nodes: []*fleet.Node{n}}, handler)
		} else if node != "" {
			s.Nodes = inventory.Nodes{Count: 1, Sample: []string{node}}
		}
		a.plans = append(a.plans, byEvent(m, s, a.answer.Events[i].Message))
	}
}

func byEvent(m *kubeletevents.Meaning, s remedy.Site, message string) []remedy.Step {
	switch m.Cause {
	case kubeletevents.NotLoaded:
		return remedy.ForFinding(v1alpha1.Finding{Code: v1alpha1.FindingHandlerLost, Handler: s.Handler}, s)
	case kubeletevents.ShimMissing, kubeletevents.BinaryMissing:
		s.Missing = []v1alpha1.Program{{Path: m.Program, State: v1alpha1.ProgramNotFound}}
		return remedy.ForPrograms(s)
	case kubeletevents.TypeMissing:
		return remedy.ForOptions(s, "Set runtime_type (CRI-O: runtime_path) of the handler.")
	case kubeletevents.CgroupDriver:
		return remedy.ForOptions(s, "Take SystemdCgroup out of the handler's options, or set it to false: it must be true where the kubelet's cgroupDriver is systemd, and only there. Or change the kubelet's, on an empty node.",
			"grep cgroupDriver /var/lib/kubelet/config.yaml")
	case kubeletevents.OptionsWrong:
		return remedy.ForOptions(s, "Give the handler's options their types"+optionText(m)+".")
	case kubeletevents.RuntimeDown:
		return remedy.ForFinding(v1alpha1.Finding{Code: v1alpha1.FindingRuntimeUnreachable}, s)
	}
	if m.Cause == kubeletevents.Elsewhere {
		return []remedy.Step{elsewhere(m, s)}
	}
	do := upper(m.String()) + ": " + strings.TrimSuffix(message, ".") + "."
	return []remedy.Step{{Phase: remedy.Look, Do: do}}
}

// optionText says of an option what it has to be.
func optionText(m *kubeletevents.Meaning) string {
	switch {
	case m.Option == "":
		return ": true and false and numbers stand without quotes"
	case m.Type == "bool":
		return fmt.Sprintf(": %s is true or false, without quotes", m.Option)
	}
	return fmt.Sprintf(": %s is of type %s", m.Option, m.Type)
}

// elsewhere is the step for what has nothing to do with a handler. The Event has told
// what it is.
func elsewhere(m *kubeletevents.Meaning, s remedy.Site) remedy.Step {
	if m.Socket != "" {
		return remedy.Step{Phase: remedy.Look, On: s.Nodes.String(), Do: fmt.Sprintf("See what is to serve %s, and start it: no handler is to be mended.", m.Socket),
			Run: []string{"ls -l " + m.Socket, "journalctl -u kubelet -n 50"}}
	}
	return remedy.Step{Phase: remedy.Look, On: s.Nodes.String(), Do: "See to what the Event above names, such as the network, the pause image or the node's resources: no handler is to be mended.",
		Run: []string{"journalctl -u kubelet -n 50"}}
}

// upper begins a sentence.
func upper(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// advise adds what is worth knowing, and nothing wrong by itself.
func (a *asker) advise() {
	if a.chain.Ask.Handler != dockerHandler || a.chain.ClassName == dockerHandler {
		return
	}
	for _, g := range a.groups {
		if g.Loaded == fleet.Yes && strings.HasPrefix(g.Runtime, "docker") {
			a.plan(remedy.Step{Phase: remedy.Look, Do: fmt.Sprintf("Handler %q is Docker's default runtime, whatever RuntimeClass %q is called. Newer cri-dockerd takes the names of Docker's runtimes as handlers: use one of those if another runtime is meant.", dockerHandler, a.chain.ClassName),
				On: g.Sample().String(), Run: []string{"docker info --format '{{.Runtimes}} {{.DefaultRuntime}}'"}})
			return
		}
	}
}

// dockerHandler is the handler that cri-dockerd takes for Docker's default runtime.
const dockerHandler = "docker"
