package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/inventory"
)

// A Group is nodes of which the same is true of one handler.
type Group struct {
	Place Place
	// Taint is what keeps a Pod off, if that is one.
	Taint string
	// Runtime is its name and version.
	Runtime   string
	Freshness inventory.Freshness
	// Doubt is why it is not known whether the nodes have the handler; empty where
	// it is.
	Doubt inventory.Freshness
	// Down: their runtime does not answer. Unready: they are not Ready.
	Down, Unready bool
	// Cordoned: no new Pod is put there.
	Cordoned bool
	Truth
	Count int
	// Nodes are the nodes, sorted by name. What differs in the findings of some
	// (a file's line) is that of the first.
	Nodes []*Node
}

// Groups puts the nodes into groups by what is true of a handler there, those that
// matter most first. Nodes that a Pod may not land on are left out if they do not
// have the handler; ruledOut counts them.
func (f *Fleet) Groups(l Landing) (groups []*Group, ruledOut int) {
	byKey := map[string]*Group{}
	for _, n := range f.Nodes {
		place, doubt, taint := n.Place(l)
		t := n.Truth(l.Handler)
		if place == RuledOut && t.Loaded != Yes {
			ruledOut++
			continue
		}
		g := &Group{Place: place, Runtime: n.RuntimeText(), Freshness: n.Freshness, Doubt: doubt, Down: n.IsDown(), Unready: n.Unready() != nil, Cordoned: n.IsCordoned(), Truth: t}
		if place == Tainted {
			g.Taint = taint.ToString()
		}
		key := g.key()
		if byKey[key] == nil {
			byKey[key] = g
			groups = append(groups, g)
		}
		byKey[key].Nodes = append(byKey[key].Nodes, n)
		byKey[key].Count++
	}
	slices.SortStableFunc(groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(slices.Index(Places, a.Place), slices.Index(Places, b.Place)),
			cmp.Compare(slices.Index(gravity, a.State), slices.Index(gravity, b.State)), cmp.Compare(b.Count, a.Count))
	})
	return groups, ruledOut
}

// gravity puts what is wrong before what is well.
var gravity = []inventory.HandlerState{
	inventory.Lost, inventory.Lacking, inventory.Broken, inventory.Expiring, inventory.Unknown, inventory.Loaded,
}

func (g *Group) key() string {
	var codes []string
	for _, f := range g.Findings {
		if code := f.Code + " " + f.File; !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return fmt.Sprint(g.Place, "\x00", g.Taint, "\x00", g.Runtime, "\x00", g.Freshness, g.Doubt, g.Down, g.Unready, g.Cordoned, "\x00", g.State, g.Written, g.Next, g.Loaded, g.Runnable, "\x00", strings.Join(codes, "\x00"))
}

// Sample are the number of the group's nodes and some names.
func (g *Group) Sample() inventory.Nodes { return sample(g.Nodes) }

func sample(nodes []*Node) inventory.Nodes {
	s := inventory.Nodes{Count: len(nodes)}
	for _, n := range nodes[:min(len(nodes), inventory.SampleSize)] {
		s.Sample = append(s.Sample, n.Name)
	}
	return s
}
