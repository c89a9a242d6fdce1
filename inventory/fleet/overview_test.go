package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

func TestOverview(t *testing.T) {
	finding := func(code string, severity v1alpha1.Severity, change func(*v1alpha1.NodeRuntimeSpec)) func(*v1alpha1.NodeRuntimeSpec) {
		return func(spec *v1alpha1.NodeRuntimeSpec) {
			change(spec)
			spec.Findings = append(spec.Findings, v1alpha1.Finding{Code: code, Severity: severity, Handler: "nvidia"})
		}
	}
	pending := func(spec *v1alpha1.NodeRuntimeSpec) { spec.Next.Handlers = append(spec.Next.Handlers, "nvidia") }
	looked := func(spec *v1alpha1.NodeRuntimeSpec) {
		nvidia(v1alpha1.ProgramFound, true)(spec)
		spec.Handlers[0].Shim = &v1alpha1.Program{Path: "/s", State: v1alpha1.ProgramFound}
	}
	stale := func(spec *v1alpha1.NodeRuntimeSpec) { spec.RenewedAt = metav1.NewTime(now.Add(-time.Hour / 2)) }
	nvidiaDefault := func(spec *v1alpha1.NodeRuntimeSpec) {
		nvidia(v1alpha1.ProgramNotFound, true)(spec)
		spec.DefaultHandler = "nvidia"
	}
	f := New([]Member{
		member("a", looked, "pool=gpu"), member("b", nvidia(v1alpha1.ProgramFound, true), "pool=gpu"),
		member("c", finding(v1alpha1.FindingRestartPending, v1alpha1.SeverityWarning, pending), "pool=gpu"),
		member("d", finding(v1alpha1.FindingHandlerLost, v1alpha1.SeverityError, unchanged), "pool=gpu"),
		member("e", finding(v1alpha1.FindingExpiring, v1alpha1.SeverityError, nvidia(v1alpha1.ProgramFound, false)), "pool=gpu"),
		member("f", finding(v1alpha1.FindingUnnameable, v1alpha1.SeverityInfo, unchanged)),
		member("g", nil, "pool=gpu"), member("h", finding(v1alpha1.FindingBroken, v1alpha1.SeverityWarning, stale)),
		member("i", finding(v1alpha1.FindingDefaultBroken, v1alpha1.SeverityError, nvidiaDefault)),
	}, inventory.DefaultOptions, now)
	o := f.Overview([]nodev1.RuntimeClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Handler: "nvidia", Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"pool": "gpu"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "any"}, Handler: "kata"},
	})
	var got []string
	say := func(parts ...any) { got = append(got, strings.TrimSpace(fmt.Sprintln(parts...))) }
	say("nodes", o.Nodes)
	for _, c := range o.Classes {
		say("class", c.Name, c.Loaded, "of", c.Nodes, c.States)
	}
	for _, d := range o.Drift {
		say("finding", d.Code, d.Handler, d.Nodes)
	}
	for _, d := range o.Defaults {
		say("default", d.Handler, d.Nodes, d.Broken, d.Expiring)
	}
	for _, u := range o.Untold {
		say("untold", u.Freshness, u.Nodes)
	}
	say("unlooked", o.Unlooked.Nodes)
	say("handlers", o.Handlers)
	for _, r := range o.Rows {
		say("row", r.Nodes, r.Default, r.Freshness, r.States)
	}
	want := []string{
		"nodes {9 7 0 1 0 1}",
		"class gpu 3 of 6 map[Expiring:1 Loaded:2 Lost:1 Pending:1 Unknown:1]",
		"class any 0 of 9 map[Lacking:7 Unknown:2]",
		"finding DefaultBroken nvidia [i]", "finding Expiring nvidia [e]", "finding HandlerLost nvidia [d]", "finding RestartPending nvidia [c]",
		"default runc [a b c d e f] 0 0", "default  [g h] 0 0", "default nvidia [i] 1 0",
		"untold Stale [h]", "untold Silent [g]",
		"unlooked [b c d e f i]",
		"handlers [kata nvidia runc]",
		"row [d] runc Fresh [Lacking Lost Loaded]", "row [i] nvidia Fresh [Lacking Broken Loaded]", "row [e] runc Fresh [Lacking Expiring Loaded]",
		"row [c] runc Fresh [Lacking Pending Loaded]", "row [a b] runc Fresh [Lacking Loaded Loaded]", "row [f] runc Fresh [Lacking Lacking Loaded]",
		"row [g]  Silent [Unknown Unknown Unknown]", "row [h]  Stale [Unknown Unknown Unknown]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
