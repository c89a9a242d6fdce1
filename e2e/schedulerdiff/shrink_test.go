package schedulerdiff

import (
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// String returns the two objects as YAML, without what is always there.
func (p *pair) String() string {
	var text strings.Builder
	for _, object := range []any{p.Node, p.Pod} {
		raw, err := json.Marshal(object)
		if err != nil {
			return err.Error()
		}
		var tree map[string]any
		if err := json.Unmarshal(raw, &tree); err != nil {
			return err.Error()
		}
		if status, ok := tree["status"].(map[string]any); ok {
			delete(status, "nodeInfo")
			delete(status, "daemonEndpoints")
		}
		out, err := yaml.Marshal(tree)
		if err != nil {
			return err.Error()
		}
		text.WriteString("---\n" + string(out))
	}
	return text.String()
}

// shrink leaves out of a pair whatever can be left out while still holds of the
// rest.
func shrink(p *pair, still func(*pair) bool) *pair {
	raw, err := json.Marshal(p)
	if err != nil {
		return p
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return p
	}
	holds := func() bool {
		_, ok := decode(tree, still)
		return ok
	}
	if !holds() {
		return p // it does not survive JSON
	}
	for prune(tree, func(any) {}, holds) {
	}
	small, _ := decode(tree, still)
	return small
}

func decode(tree any, still func(*pair) bool) (*pair, bool) {
	raw, err := json.Marshal(tree)
	if err != nil {
		return nil, false
	}
	p := &pair{}
	if err := json.Unmarshal(raw, p); err != nil || p.Node == nil || p.Pod == nil {
		return nil, false
	}
	return p, still(p)
}

// prune takes out of a tree, one after the other, what holds does not need, and
// says whether that was anything. replace puts a list back where it is from.
func prune(tree any, replace func(any), holds func() bool) bool {
	pruned := false
	switch node := tree.(type) {
	case map[string]any:
		for key, value := range node {
			delete(node, key)
			if holds() {
				pruned = true
				continue
			}
			node[key] = value
			pruned = prune(value, func(v any) { node[key] = v }, holds) || pruned
		}
	case []any:
		for i := 0; i < len(node); i++ {
			shorter := slices.Delete(slices.Clone(node), i, i+1)
			replace(shorter)
			if holds() {
				return true
			}
			replace(node)
			pruned = prune(node[i], func(v any) { node[i] = v }, holds) || pruned
		}
	}
	return pruned
}
