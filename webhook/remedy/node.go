package remedy

import (
	"fmt"
	"strings"
	"time"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// Absent returns what to do about a handler of which the nodes have no trace.
func Absent(s Site) []Step {
	steps := []Step{s.see()}
	if at := s.Runtime; strings.Contains(at.Endpoint, "/run/k3s/") || strings.Contains(at.Version, "k3s") || strings.Contains(at.Version, "rke2") {
		steps = append(steps, Step{Phase: Mend, On: s.on(), Do: "k3s and RKE2 look for the programs of known runtimes when they start, in folders of their own list. Install the program in one of these, or define the handler in config.toml.tmpl (config-v3.toml.tmpl for containerd 2)."})
	}
	return append(steps, s.bring(), s.next(), s.start(), s.loaded())
}

// ForPrograms returns what to do where an Event tells of programs that are not there:
// there may be no finding of it, as nobody looks at programs by default.
func ForPrograms(s Site) []Step {
	f := &finding{Site: &s, Finding: v1alpha1.Finding{Handler: s.Handler}}
	return append(s.install(f.at()), s.retried())
}

// ForOptions returns what to do where an Event tells that a handler is loaded with
// settings that are wrong.
func ForOptions(s Site, mend string, look ...string) []Step {
	f := &finding{Site: &s, Finding: v1alpha1.Finding{Handler: s.Handler, File: s.Origin}}
	step := f.mend(mend)
	step.Run = look
	if s.Default {
		return []Step{s.cordon(), step, f.explain(), f.start(), s.retried(), s.uncordon()}
	}
	return []Step{step, f.explain(), f.drain(), f.start(), s.retried()}
}

// retried is the step that looks at Pods again: no list of handlers tells whether they
// start.
func (s *Site) retried() Step {
	return joined(Again, "", joint{nodes: s.on(), topic: "again", begin: fmt.Sprintf("Look again at %s: ", s.on()), between: "; ", says: []string{"the kubelet tries anew by itself, and the Pods start"}, end: "."},
		"kubectl get pods -A --field-selector spec.nodeName="+s.first())
}

// ForSilence returns what to do about nodes of which it is not known what they have
// loaded.
func ForSilence(why inventory.Freshness, s Site) []Step {
	pods := "kubectl get pods -A -o wide -l app.kubernetes.io/component=reporter --field-selector spec.nodeName=" + s.first()
	again := joined(Again, "", joint{nodes: s.on(), topic: "again", begin: fmt.Sprintf("Look again at %s: ", s.on()), between: "; ", says: []string{"there is a report that counts"}, end: "."},
		"kubectl get nruntime "+s.first())
	switch why {
	case inventory.Stale:
		return append(s.unready(), Step{Phase: Mend, Do: fmt.Sprintf("The report of %s is too old to count: see to the node, then to the reporter on it.", s.on()), Run: []string{"kubectl get node " + s.first(), pods}}, again)
	case inventory.Young:
		return []Step{s.young(" Wait for them.")}
	case inventory.Kubelet:
		return append(s.unready(), Step{Phase: Mend, Do: fmt.Sprintf("There is no report of %s, only the list of its kubelet: see that the reporter runs there.", s.on()), Run: []string{pods}}, again)
	case inventory.Fresh:
		return append(s.unready(), Step{Phase: Look, Do: fmt.Sprintf("What is known of %s is not sure for this handler: ask its running runtime.", s.on()), Run: []string{"kubectl get nruntime " + s.first() + " -o yaml"}})
	}
	return append(s.unready(), Step{Phase: Mend, Do: fmt.Sprintf("Nobody has told what is loaded on %s: see that the reporter runs there.", s.on()), Run: []string{pods}}, again)
}

// unready is what to see to first on nodes that are not Ready: their runtime may be
// down, and nobody there to tell.
func (s *Site) unready() []Step {
	if s.NotReady == "" {
		return nil
	}
	unit := s.unit()
	return []Step{joined(Down, s.on(), joint{nodes: s.on(), topic: "down", begin: fmt.Sprintf("See why the node is %s: its runtime may be down, or its kubelet.", s.NotReady)},
		"systemctl status "+unit+" kubelet", "journalctl -u "+unit+" -n 50")}
}

// ForUnready returns what to do about nodes that are not Ready though their runtime
// answers.
func ForUnready(s Site) []Step {
	return []Step{{Phase: Look, Do: fmt.Sprintf("The runtime of %s answers, and the node is %s: see why.", s.on(), s.NotReady), Run: []string{"kubectl describe node " + s.first()}}}
}

// ForYoung returns what to know of nodes that are new, beside what mends them.
func ForYoung(s Site) []Step { return []Step{s.young("")} }

func (s *Site) young(end string) Step {
	until := ""
	if !s.Settled.IsZero() {
		until = "until " + s.Settled.UTC().Format(time.RFC3339) + " "
	}
	return joined(Look, "", joint{nodes: s.on(), topic: "young", begin: fmt.Sprintf(
		"%s is younger than --node-settle: %sthe webhook takes what it lacks for not known, and lets Pods in with a warning, as installers may still be at work there.", s.on(), until), end: end},
		"kubectl get nruntime "+s.first()+" --watch")
}
