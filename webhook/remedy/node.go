package remedy

import (
	"fmt"
	"strings"

	"github.com/runtimegate/runtimegate/inventory"
)

// Absent returns what to do about a handler of which the nodes have no trace.
func Absent(s Site) []Step {
	steps := []Step{s.see()}
	if at := s.Runtime; strings.Contains(at.Endpoint, "/run/k3s/") || strings.Contains(at.Version, "k3s") || strings.Contains(at.Version, "rke2") {
		steps = append(steps, Step{Phase: Mend, On: s.on(), Do: "k3s and RKE2 look for the programs of known runtimes when they start, in folders of their own list. Install the program in one of these, or define the handler in config.toml.tmpl (config-v3.toml.tmpl for containerd 2)."})
	}
	return append(steps, s.bring(), s.next(), s.start(), s.loaded())
}

// ForSilence returns what to do about nodes of which it is not known what they have
// loaded.
func ForSilence(why inventory.Freshness, nodes inventory.Nodes) []Step {
	s := Site{Nodes: nodes}
	pods := "kubectl get pods -A -o wide -l app.kubernetes.io/component=reporter --field-selector spec.nodeName=" + s.first()
	again := Step{Phase: Again, Do: fmt.Sprintf("Look again: there is a report of %s that counts.", s.on()), Run: []string{"kubectl get nruntime " + s.first()}}
	switch why {
	case inventory.Stale:
		return []Step{
			{Phase: Mend, Do: fmt.Sprintf("The report of %s is too old to count: see to the node, then to the reporter on it.", s.on()), Run: []string{"kubectl get node " + s.first(), pods}},
			again,
		}
	case inventory.Young:
		return []Step{
			{Phase: Look, Do: fmt.Sprintf("Wait until the node has settled (--node-settle) and its installers are done: %s.", s.on()), Run: []string{"kubectl get nruntime " + s.first() + " --watch"}},
		}
	case inventory.Kubelet:
		return []Step{
			{Phase: Mend, Do: fmt.Sprintf("There is no report of %s, only the list of its kubelet: see that the reporter runs there.", s.on()), Run: []string{pods}},
			again,
		}
	case inventory.Fresh:
		return []Step{
			{Phase: Look, Do: fmt.Sprintf("What is known of %s is not sure for this handler: ask its running runtime.", s.on()), Run: []string{"kubectl get nruntime " + s.first() + " -o yaml"}},
		}
	}
	return []Step{
		{Phase: Mend, Do: fmt.Sprintf("Nobody has told what is loaded on %s: see that the reporter runs there.", s.on()), Run: []string{pods}},
		again,
	}
}
