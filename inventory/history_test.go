package inventory

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

func TestHistory(t *testing.T) {
	first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	second := first.Add(time.Hour)
	before := func(started time.Time, handlers string, findings ...v1alpha1.Finding) *v1alpha1.NodeRuntimeSpec {
		spec := &v1alpha1.NodeRuntimeSpec{Source: v1alpha1.SourceCRI, Findings: findings}
		at := metav1.NewTime(started)
		spec.Runtime.StartedAt = &at
		for _, name := range handlers {
			spec.Handlers = append(spec.Handlers, v1alpha1.Handler{Name: string(name)})
		}
		return spec
	}
	dump := before(first, "ab")
	dump.Source = v1alpha1.SourceConfigDump
	lost := v1alpha1.Finding{Code: v1alpha1.FindingHandlerLost, Handler: "b"}
	unconfirmed := v1alpha1.Finding{Code: v1alpha1.FindingHandlerUnconfirmed, Handler: "b"}
	loaded := func(runtime, handlers string) *config.Status {
		s := &config.Status{RuntimeName: runtime}
		for _, name := range handlers {
			s.Handlers = append(s.Handlers, config.Handler{Name: string(name), RuntimeType: "t"})
		}
		return s
	}
	starts := func(n int) (all []time.Time) {
		for i := range n {
			all = append(all, first.Add(time.Duration(i)*time.Minute))
		}
		return all
	}
	tests := map[string]struct {
		before *v1alpha1.NodeRuntimeSpec
		loaded *config.Status
		start  time.Time
		starts []time.Time
		want   []string // of the codes that history has
	}{
		"nothing is known from before":             {nil, loaded("containerd", "a"), first, nil, nil},
		"the same list":                            {before(first, "ab"), loaded("containerd", "ab"), first, nil, nil},
		"one is lost at a start":                   {before(first, "ab"), loaded("containerd", "a"), second, nil, []string{"HandlerLost b"}},
		"it stays lost until the next one":         {before(second, "a", lost), loaded("containerd", "a"), second, nil, []string{"HandlerLost b"}},
		"and not longer":                           {before(first, "a", lost), loaded("containerd", "a"), second, nil, nil},
		"it is back":                               {before(second, "a", lost), loaded("containerd", "ab"), second, nil, nil},
		"one is lost without a start":              {before(first, "ab"), loaded("containerd", "a"), first, nil, []string{"HandlerLost b"}},
		"cri-o lists less after a reload":          {before(first, "ab"), loaded("cri-o", "a"), first, nil, []string{"HandlerUnconfirmed b"}},
		"and is started without it":                {before(first, "a", unconfirmed), loaded("cri-o", "a"), second, nil, nil},
		"cri-o after a report without a list":      {before(first, ""), loaded("cri-o", "a"), first, nil, nil},
		"what a dump had proves nothing":           {dump, loaded("containerd", "a"), second, nil, nil},
		"cri-o lists more after a reload":          {before(first, "a"), loaded("cri-o", "ab"), first, nil, []string{"HandlerUnconfirmed b"}},
		"that stays so":                            {before(first, "ab", unconfirmed), loaded("cri-o", "ab"), first, nil, []string{"HandlerUnconfirmed b"}},
		"until a start":                            {before(first, "ab", unconfirmed), loaded("cri-o", "ab"), second, nil, nil},
		"what is new after a start is loaded":      {before(first, "a"), loaded("cri-o", "ab"), second, nil, nil},
		"four starts are none too many":            {before(first, "a"), loaded("containerd", "a"), first, starts(4), nil},
		"five are":                                 {before(first, "a"), loaded("containerd", "a"), first, starts(5), []string{"RestartStorm "}},
		"a report of silence is no list of before": {before(first, ""), loaded("containerd", "a"), second, nil, nil},
	}
	for name, test := range tests {
		report, err := FromStatus(&Observation{
			Loaded: test.loaded, StartedAt: test.start, Before: test.before, Starts: test.starts, NextUnknown: "because", At: second,
		}, "n")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, f := range report.Spec.Findings {
			if slices.Contains([]string{v1alpha1.FindingHandlerLost, v1alpha1.FindingHandlerUnconfirmed, v1alpha1.FindingRestartStorm}, f.Code) {
				got = append(got, f.Code+" "+f.Handler)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMessagesOfLostHandlers(t *testing.T) {
	before := &v1alpha1.NodeRuntimeSpec{Source: v1alpha1.SourceCRI, Handlers: []v1alpha1.Handler{{Name: "kata"}}}
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const was = `handler "kata" was loaded before the last start of containerd at 2026-01-02T03:04:05Z, and is not any more: `
	for want, next := range map[string]*config.Result{
		was + "what its files say is not known; check them and restart containerd": nil,
		was + "no file defines it any more; write it again (for an installer such as the NVIDIA toolkit: let its DaemonSet do so) and restart containerd": {
			Daemon: config.DaemonAnswer{State: config.Running}},
		was + "its files define it again; restart containerd": {
			Daemon: config.DaemonAnswer{State: config.Running, CRI: config.CRI{Handlers: []config.Handler{{Name: "kata"}}}}},
	} {
		report, err := FromStatus(&Observation{
			Loaded: loadedWith("runc"), StartedAt: started, Before: before, Next: next, NextUnknown: "because", At: started,
		}, "n")
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(report.Spec.Findings, func(f v1alpha1.Finding) bool { return f.Code == v1alpha1.FindingHandlerLost })
		if i < 0 || report.Spec.Findings[i].Message != want {
			t.Errorf("want %s\nin %+v", want, report.Spec.Findings)
		}
	}
}

// TestManyFindingsLeaveWhatDecides: without the finding the handler counts as missing,
// and its Pods would be denied.
func TestManyFindingsLeaveWhatDecides(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	before := &v1alpha1.NodeRuntimeSpec{Source: v1alpha1.SourceCRI, Handlers: []v1alpha1.Handler{{Name: "kata"}, {Name: "runc"}}}
	before.Runtime.StartedAt = &at
	loaded := loadedWith("runc")
	loaded.RuntimeName = config.CRIO
	next := &config.Result{Daemon: config.DaemonAnswer{State: config.Running, CRI: loaded.CRI}}
	for i := range 2 * v1alpha1.MaxFindings {
		next.Findings = append(next.Findings, config.Finding{Code: config.CodeSectionReplaced, Severity: config.Error, Line: i})
	}
	report, err := FromStatus(&Observation{Loaded: loaded, StartedAt: at.Time, Before: before, Next: next, At: at.Time}, "n")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(report.Spec.Findings); n != v1alpha1.MaxFindings {
		t.Errorf("%d findings, want %d", n, v1alpha1.MaxFindings)
	}
	report.Spec.RenewedAt = ago(0)
	x := NewIndex(DefaultOptions)
	x.SetNode(oldNode("n"))
	x.SetReport(report)
	if c := x.Coverage(ClassPlacement(nil, nil, false), "kata", 0, now); c.Silent.Count != 1 {
		t.Errorf("of a handler that may be loaded: %+v", c)
	}
}

// TestStormComesLast: what a storm leaves behind stays for a while; what else is wrong
// is what there is to mend.
func TestStormComesLast(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	report, err := FromStatus(&Observation{
		Loaded: loadedWith("runc"), StartedAt: at, At: at, Starts: []time.Time{at, at, at, at, at},
		Next: filesOf(t, map[string]string{"config.toml": "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.runtimes.nvidia]\nruntime_type = 'io.containerd.runc.v2'\n"}),
	}, "n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := report.Spec.Summary.Findings, "WrongParentTable, RestartStorm"; got != want {
		t.Errorf("findings %s, want %s", got, want)
	}
	if got, want := report.Spec.Findings[1].Message, "containerd was started 5 times within 10 minutes, the last that answered at 2026-01-02T03:04:05Z: see why in its log"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func TestStartsAreCounted(t *testing.T) {
	m := &memory{}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, want := range []int{1, 1, 2, 3, 4, 1} {
		start := []time.Duration{0, 0, 300 * time.Millisecond, time.Minute, 2 * time.Minute, 20 * time.Minute}[i]
		seen := &Observation{StartedAt: now.Add(start), At: now.Add(start)}
		if m.recall(seen); len(seen.Starts) != want {
			t.Errorf("look %d: starts %v, want %d", i, seen.Starts, want)
		}
	}
}
