package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// member makes an old node with a report that change has changed; without a change
// there is no report.
func member(name string, change func(*v1alpha1.NodeRuntimeSpec), labels ...string) Member {
	m := Member{Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)), Labels: map[string]string{}}}}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		m.Object.Labels[key] = value
	}
	if change == nil {
		return m
	}
	m.Report = &v1alpha1.NodeRuntime{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Report.Spec = v1alpha1.NodeRuntimeSpec{
		Runtime: v1alpha1.Runtime{Name: "containerd", Version: "v2.4.2"}, DefaultHandler: "runc",
		Handlers:  []v1alpha1.Handler{{Name: "runc"}},
		Next:      &v1alpha1.Next{Handlers: []string{"runc"}, DefaultHandler: "runc"},
		RenewedAt: metav1.NewTime(now),
	}
	change(&m.Report.Spec)
	return m
}

func unchanged(*v1alpha1.NodeRuntimeSpec) {}

// nvidia adds the handler to a report, with a program in that state.
func nvidia(state v1alpha1.ProgramState, next bool) func(*v1alpha1.NodeRuntimeSpec) {
	return func(spec *v1alpha1.NodeRuntimeSpec) {
		spec.Handlers = append(spec.Handlers, v1alpha1.Handler{
			Name: "nvidia", Origin: "/etc/containerd/99.toml:1", Shim: &v1alpha1.Program{Path: "/s", State: v1alpha1.ProgramFound}, Binary: &v1alpha1.Program{Path: "/b", State: state},
		})
		if next {
			spec.Next.Handlers = append(spec.Next.Handlers, "nvidia")
		}
	}
}

func TestTruth(t *testing.T) {
	finding := func(code, file string) func(*v1alpha1.NodeRuntimeSpec) {
		return func(spec *v1alpha1.NodeRuntimeSpec) {
			spec.Findings = []v1alpha1.Finding{{Code: code, Handler: "nvidia", File: file, Severity: v1alpha1.SeverityError}}
		}
	}
	both := func(changes ...func(*v1alpha1.NodeRuntimeSpec)) func(*v1alpha1.NodeRuntimeSpec) {
		return func(spec *v1alpha1.NodeRuntimeSpec) {
			for _, change := range changes {
				change(spec)
			}
		}
	}
	tests := map[string]struct {
		change  func(*v1alpha1.NodeRuntimeSpec)
		handler string
		want    string // written next loaded runnable state
	}{
		"no report":                        {nil, "nvidia", "? ? ? - Unknown"},
		"all well":                         {nvidia(v1alpha1.ProgramFound, true), "nvidia", "yes yes yes yes Loaded"},
		"its programs were not looked for": {nvidia(v1alpha1.ProgramUnchecked, true), "nvidia", "yes yes yes ? Loaded"},
		"a program is missing":             {nvidia(v1alpha1.ProgramNotFound, true), "nvidia", "yes yes yes no Broken"},
		"gone with the next start": {
			both(nvidia(v1alpha1.ProgramFound, false), finding(v1alpha1.FindingExpiring, "/etc/containerd/zz.toml")), "nvidia", "yes no yes yes Expiring",
		},
		"gone with the next start, and no file has it": {
			both(nvidia(v1alpha1.ProgramFound, false), finding(v1alpha1.FindingExpiring, "")), "nvidia", "no no yes yes Expiring",
		},
		"broken by the next start": {
			both(nvidia(v1alpha1.ProgramFound, true), finding(v1alpha1.FindingExpiring, "/etc/containerd/zz.toml")), "nvidia", "yes yes yes yes Expiring",
		},
		"defined, not loaded": {
			func(spec *v1alpha1.NodeRuntimeSpec) { spec.Next.Handlers = append(spec.Next.Handlers, "nvidia") }, "nvidia", "yes yes no - Lacking",
		},
		"written where nothing reads it": {finding(config.CodeNotImported, "/etc/containerd/config.d/99.toml"), "nvidia", "yes no no - Lacking"},
		"lost":                           {finding(v1alpha1.FindingHandlerLost, ""), "nvidia", "no no no - Lost"},
		"nobody ever wrote it":           {unchanged, "nvidia", "no no no - Lacking"},
		"the files can't be read":        {func(spec *v1alpha1.NodeRuntimeSpec) { spec.Next = nil }, "nvidia", "? ? no - Lacking"},
		"a file can't be read": {func(spec *v1alpha1.NodeRuntimeSpec) {
			spec.Next.Handlers = nil
			spec.Findings = []v1alpha1.Finding{{Code: config.CodeDaemonWillNotStart, File: "/etc/containerd/99.toml", Severity: v1alpha1.SeverityError}}
		}, "nvidia", "? no no - Lacking"},
		"an old report":                       {func(spec *v1alpha1.NodeRuntimeSpec) { spec.RenewedAt = metav1.NewTime(now.Add(-time.Hour / 2)) }, "runc", "? ? ? - Unknown"},
		"the default handler":                 {unchanged, "", "yes yes yes ? Loaded"},
		"a default handler that is not there": {func(spec *v1alpha1.NodeRuntimeSpec) { spec.DefaultHandler = "gone" }, "", "no no no - Broken"},
	}
	words := map[Answer]string{Yes: "yes", No: "no", NotKnown: "?", NoMeaning: "-"}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := New([]Member{member("n", tt.change)}, inventory.DefaultOptions, now)
			got := f.Node("n").Truth(tt.handler)
			if text := fmt.Sprint(words[got.Written], " ", words[got.Next], " ", words[got.Loaded], " ", words[got.Runnable], " ", got.State); text != tt.want {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
}

func TestGroups(t *testing.T) {
	tainted := member("c-tainted", nvidia(v1alpha1.ProgramFound, true))
	tainted.Object.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	young := member("g-young", unchanged)
	young.Object.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
	f := New([]Member{
		member("f-silent", nil), young,
		member("b-has", nvidia(v1alpha1.ProgramFound, true)), member("a-has", nvidia(v1alpha1.ProgramFound, true)),
		tainted, member("d-lacks", unchanged), member("e-lacks", unchanged),
		member("h-other", unchanged, "pool=other"), member("i-other", nvidia(v1alpha1.ProgramFound, true), "pool=other"),
	}, inventory.DefaultOptions, now)
	pod := &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpDoesNotExist}},
		}}},
	}}}}
	groups, ruledOut := f.Groups(Landing{Placement: inventory.PlacementOf(pod), Handler: "nvidia"})
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprint(g.Place, g.Taint, " ", g.State, g.Doubt, " ", g.Sample()))
	}
	want := []string{
		"Candidate Lacking d-lacks, e-lacks", "Candidate UnknownSilent f-silent", "Candidate UnknownYoung g-young",
		"Candidate Loaded a-has, b-has", "Taintedgpu:NoSchedule Loaded c-tainted", "RuledOut Loaded i-other",
	}
	if !slices.Equal(got, want) || ruledOut != 1 {
		t.Errorf("got %q and %d ruled out\nwant %q and 1", got, ruledOut, want)
	}
}

func TestLabels(t *testing.T) {
	f := New([]Member{
		member("a", nvidia(v1alpha1.ProgramFound, true), "pool=gpu", "nvidia.com/gpu.present=true", "kubernetes.io/hostname=a", "os=linux", "gen=1"),
		member("b", nvidia(v1alpha1.ProgramFound, true), "pool=gpu", "nvidia.com/gpu.present=true", "kubernetes.io/hostname=b", "os=linux", "gen=2"),
		member("c", unchanged, "pool=cpu", "os=linux"), member("d", nil, "nvidia.com/gpu.present=true"),
	}, inventory.DefaultOptions, now)
	if got, want := f.Labels("nvidia"), []string{"pool=gpu"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := f.Labels("kata"); len(got) != 0 {
		t.Errorf("labels of a handler that no node has: %q", got)
	}
}

func TestRuntimeOfKubelet(t *testing.T) {
	m := member("n", nil)
	m.Object.Status.NodeInfo.ContainerRuntimeVersion = "cri-o://1.33.2"
	if got := New([]Member{m}, inventory.DefaultOptions, now).Node("n").RuntimeText(); got != "cri-o 1.33.2" {
		t.Errorf("got %q", got)
	}
}
