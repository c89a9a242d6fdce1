package inventory

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var (
	seed      = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the random clusters and questions")
	questions = flag.Int("questions", 20_000, "how many of them to compare")
)

// Both answer the same questions about the same cluster.
type both struct {
	fast *Index
	slow *walkingIndex
}

// A change is an event, of a cluster, that both are told of.
func (b *both) change(g *generator) string {
	name := g.nodeName()
	switch g.r.IntN(12) {
	case 0:
		b.fast.DeleteNode(name)
		b.slow.DeleteNode(name)
		return "delete node " + name
	case 1:
		b.fast.DeleteReport(name)
		b.slow.DeleteReport(name)
		return "delete report " + name
	case 2, 3, 4, 5:
		report := g.report(name)
		b.fast.SetReport(report)
		b.slow.SetReport(report)
		return "report " + name
	case 6, 7: // a heartbeat, which changes nothing else
		if report, ok := g.reports[name]; ok {
			report = report.DeepCopy()
			report.Spec.RenewedAt = g.time()
			g.reports[name] = report
			b.fast.SetReport(report)
			b.slow.SetReport(report)
		}
		return "heartbeat " + name
	}
	node := g.node(name)
	b.fast.SetNode(node)
	b.slow.SetNode(node)
	return "node " + name
}

// difference asks both, and says where they disagree.
func (b *both) difference(g *generator) string {
	handler := pick(g.r, "kata", "kata", "nvidia", "nvidia", "runc", "runc", "gvisor", "")
	needs := Features(0)
	if g.chance(30) {
		needs = Features(g.r.IntN(int(featuresEnd)))
	}
	var got, want Coverage
	about := ""
	if g.chance(10) {
		selects, tolerations, anyTaint := g.nodeSelector(), g.tolerations(), g.chance(50)
		got = b.fast.Coverage(ClassPlacement(selects, tolerations, anyTaint), handler, needs, g.now)
		want = b.slow.Coverage(walkedClassPlacement(selects, tolerations, anyTaint), handler, needs, g.now)
		about = fmt.Sprint(selects, tolerations, anyTaint)
	} else {
		pod := g.pod()
		got = b.fast.Coverage(PlacementOf(pod), handler, needs, g.now)
		want = b.slow.Coverage(walkedPlacementOf(pod), handler, needs, g.now)
		if !reflect.DeepEqual(got, want) {
			text, _ := yaml.Marshal(pod.Spec)
			about = string(text)
		}
	}
	g.tally(&want)
	if reflect.DeepEqual(got, want) {
		return ""
	}
	return fmt.Sprintf("handler %q at %s (-walking +index):\n%s\n%s", handler, g.now, cmp.Diff(want, got), about)
}

// others compares what else can be asked for.
func (b *both) others(g *generator) string {
	handlers := []string{"", "kata", "nvidia", "runc"}
	if diff := cmp.Diff(b.slow.Summary(handlers, g.now), b.fast.Summary(handlers, g.now)); diff != "" {
		return "summary:\n" + diff
	}
	if diff := cmp.Diff(b.slow.Loaded(g.now), b.fast.Loaded(g.now)); diff != "" {
		return "loaded:\n" + diff
	}
	if got, want := b.fast.NodeCount(), len(b.slow.nodes); got != want {
		return fmt.Sprintf("%d nodes, want %d", got, want)
	}
	return ""
}

// TestIndexAgreesWithWalking tells an Index and one that walks over all nodes of
// the same random events, and asks both the same random questions at any time. It
// is to be run for long with
//
//	go test ./inventory -run=TestIndexAgreesWithWalking -v -args -questions=1000000
func TestIndexAgreesWithWalking(t *testing.T) {
	t.Logf("%d questions; the same again: -args -seed=%d", *questions, *seed)
	const steps, each = 60, 5
	seen := map[string]int{}
	for cluster := range (*questions + steps*each - 1) / (steps * each) {
		g := newGenerator(rand.New(rand.NewPCG(*seed, uint64(cluster))), seen)
		b := &both{fast: NewIndex(g.options()), slow: nil}
		b.slow = newWalkingIndex(b.fast.options)
		b.fast.limits = g.limits()
		b.fast.findNamingAt = b.fast.limits.values
		var events []string
		for range steps {
			for range g.r.IntN(6) {
				events = append(events, b.change(g))
			}
			for range each {
				g.passTime()
				if difference := b.difference(g); difference != "" {
					t.Fatalf("cluster %d, after %d events: %s", cluster, len(events), difference)
				}
			}
			if difference := b.others(g); difference != "" {
				t.Fatalf("cluster %d, after %d events: at %s: %s", cluster, len(events), g.now, difference)
			}
		}
		if len(b.fast.naming) > 1 {
			seen["clusters with a naming key found"]++
		}
	}
	t.Log(seen)
	for _, what := range everything {
		if n := seen[what]; n < *questions/1000 {
			t.Errorf("%d questions with nodes in %s: they say little about it", n, what)
		}
	}
}

var everything = []string{"Has", "Lacks", "Silent", "Stale", "Young", "Down", "Broken", "Expiring", "Breaking", "Faults", "Standards", "Elsewhere", "Tainted",
	"MaybeTainted", "SeveralTaints", "TooSmall", "Settling", "Crowded", "a feature", "4 or more", "back in time"}

// tally counts what came up in the answers.
func (g *generator) tally(c *Coverage) {
	for what, n := range map[string]Nodes{"Has": c.Has, "Lacks": c.Lacks, "Silent": c.Silent, "Stale": c.Stale, "Young": c.Young, "Down": c.Down,
		"Broken": c.Broken, "Expiring": c.Expiring, "Breaking": c.Breaking, "Elsewhere": c.Elsewhere, "Tainted": c.Tainted, "MaybeTainted": c.MaybeTainted,
		"TooSmall": c.TooSmall, "Settling": c.Settling, "Crowded": c.Crowded} {
		if n.Count > 0 {
			g.seen[what]++
		}
		if n.Count > SampleSize {
			g.seen["4 or more"]++
		}
	}
	for what, is := range map[string]bool{"Standards": len(c.Standards) > 0, "Faults": c.Faults&^BinaryMissing != 0, "SeveralTaints": c.SeveralTaints, "a feature": len(c.Features) > 0 && c.Has.Count > 0} {
		if is {
			g.seen[what]++
		}
	}
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }
