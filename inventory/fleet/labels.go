package fleet

import (
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/inventory"
)

// labelsShown is how many labels are offered.
const labelsShown = 3

// nodeLabels say of each node something else, or something of no use as a selector.
var nodeLabels = []string{"kubernetes.io/hostname", "node.kubernetes.io/instance-id", "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"}

// Labels returns labels, as key=value, that all nodes with a handler have, and no
// node that lacks it or has not told; the shortest first.
func (f *Fleet) Labels(handler string) []string {
	var shared map[string]string
	var others []map[string]string
	for _, n := range f.Nodes {
		labels := n.Object.Labels
		switch n.States([]string{handler})[handler] {
		case inventory.Loaded, inventory.Expiring, inventory.Broken:
			if shared == nil {
				shared = map[string]string{}
				for key, value := range labels {
					shared[key] = value
				}
			}
			for key, value := range shared {
				if labels[key] != value {
					delete(shared, key)
				}
			}
		default:
			others = append(others, labels)
		}
	}
	var found []string
	for key, value := range shared {
		if !slices.Contains(nodeLabels, key) && !slices.ContainsFunc(others, func(labels map[string]string) bool { return labels[key] == value }) {
			found = append(found, key+"="+value)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return found[:min(len(found), labelsShown)]
}
