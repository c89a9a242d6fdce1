package remedy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// sites are where the remedies of the golden file are for.
var sites = []struct {
	name string
	site Site
}{
	{"nvidia on containerd", Site{
		Nodes: inventory.Nodes{Count: 5, Sample: []string{"gpu-a", "gpu-b", "gpu-c"}}, Handler: "nvidia",
		Runtime: v1alpha1.Runtime{Name: "containerd", Endpoint: "unix:///run/containerd/containerd.sock"},
	}},
	{"crun on CRI-O", Site{
		Nodes: inventory.Nodes{Count: 1, Sample: []string{"ocp-1"}}, Handler: "crun",
		Runtime: v1alpha1.Runtime{Name: "cri-o", Endpoint: "unix:///run/crio/crio.sock"}, Loaded: true,
	}},
}

func codes() []string {
	all := slices.Concat(v1alpha1.FindingCodes, config.Codes)
	slices.Sort(all)
	return slices.Compact(all)
}

// TestFindings compares the remedy of every code with testdata/findings.golden
// (UPDATE=1 writes it anew).
func TestFindings(t *testing.T) {
	var got strings.Builder
	for _, code := range codes() {
		if _, ok := byCode[code]; !ok {
			t.Errorf("code %s has no remedy", code)
		}
		for i, s := range sites {
			f := v1alpha1.Finding{Code: code, Handler: s.site.Handler, File: "/etc/containerd/conf.d/99.toml", Line: 3, Message: "what the report says"}
			if i > 0 { // no file
				f.File, f.Line = "", 0
			}
			steps := Plan(ForFinding(f, s.site))
			fmt.Fprintf(&got, "# %s: %s\n", code, s.name)
			for n, step := range steps {
				fmt.Fprintf(&got, "%d. %s%s\n", n+1, where(step), step.Do)
				for _, run := range step.Run {
					fmt.Fprintf(&got, "   %s\n", run)
				}
			}
			if len(steps) == 0 {
				t.Errorf("code %s: no steps", code)
			}
		}
	}
	golden(t, "testdata/findings.golden", got.String())
}

func where(s Step) string {
	if s.On == "" {
		return ""
	}
	return "On " + s.On + ": "
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("not as in %s (UPDATE=1 writes it anew); got:\n%s", file, got)
	}
}

// found are findings of all codes, in all wordings that a remedy tells apart.
func found() (all []v1alpha1.Finding) {
	for _, code := range codes() {
		all = append(all, v1alpha1.Finding{Code: code, Handler: "nvidia", Message: "what the report says"})
	}
	for _, f := range []v1alpha1.Finding{
		{Code: v1alpha1.FindingBroken, Message: `handler "nvidia" has no runtime_type: none of its Pods can start; set runtime_type`},
		{Code: v1alpha1.FindingExpiring, Message: `after the next restart none of its Pods can start: its shim is gone; mend the files`},
		{Code: config.CodeCRIDisabled, Message: "disabled_plugins has it"},
		{Code: config.CodeNotImported, Message: `handler "nvidia" stands in a file that nothing reads: the pattern "conf.d/*.conf" of /etc/containerd/config.toml:2 does not match it; rename it`},
		{Code: v1alpha1.FindingHandlerLost, Handler: "kata"},
		{Code: v1alpha1.FindingExpiring, Handler: "kata"},
	} {
		if f.Handler == "" {
			f.Handler = "nvidia"
		}
		all = append(all, f)
	}
	return all
}

// planOf is the plan for findings that meet on a node, as they are or with the place
// where they are mended.
func planOf(loaded, placed bool, meet ...v1alpha1.Finding) []Step {
	site := sites[0].site
	site.Loaded = loaded
	site.Down = slices.ContainsFunc(meet, func(f v1alpha1.Finding) bool { return f.Code == v1alpha1.FindingRuntimeUnreachable })
	var plans [][]Step
	for _, f := range meet {
		if placed {
			f.File, f.Line = "/etc/containerd/conf.d/99.toml", 3
		}
		plans = append(plans, ForFinding(f, site))
	}
	return Plan(plans...)
}

// contradiction says what is wrong with a plan for one node; "" if nothing is.
func contradiction(plan []Step) string {
	mendPlaces, phases := map[string]bool{}, map[Phase]int{}
	said := map[string]bool{}
	conditional := false
	for i, step := range plan {
		phases[step.Phase]++
		place, _, isMend := strings.Cut(strings.TrimPrefix(step.Do, "Mend "), ". ")
		switch {
		case step.Do == "" || said[step.Do]:
			return fmt.Sprintf("step %d is there twice, or empty: %q", i+1, step.Do)
		case isMend && strings.HasPrefix(step.Do, "Mend /") && mendPlaces[place]:
			return "mends twice: " + place
		case i > 0 && plan[i-1].Phase > step.Phase:
			return fmt.Sprintf("%q comes after %q", step.Do, plan[i-1].Do)
		}
		said[step.Do] = true
		if isMend {
			mendPlaces[place] = true
		}
		conditional = conditional || strings.Contains(step.Do, "restart is needed only if")
	}
	last := plan[len(plan)-1]
	if last.Phase == Admit && len(plan) > 1 {
		last = plan[len(plan)-2]
	}
	switch {
	case phases[Restart] > 1 || phases[Again] > 1 || phases[Hold] > 2 || phases[Drain] > 1 || phases[Admit] > 1:
		return "does more than once what is done once"
	case phases[Drain] > 0 && phases[Admit] == 0:
		return "drains a node, and does not let Pods in again"
	case phases[Restart] > 0 && conditional:
		return "restarts, and says that a restart may not be needed"
	case len(plan) > 1 && !strings.HasPrefix(last.Do, "Look again"):
		return "does not look again at last"
	case phases[Down] > 0 && (plan[0].Phase != Down || phases[Drain] > 0):
		return "does not see first why the runtime is down, or drains a node without one"
	}
	for _, step := range plan {
		if phases[Down] > 0 && strings.Contains(step.Do, "Restart nothing") || strings.Contains(step.Do, "goes on with what it has loaded") && phases[Down] > 0 {
			return "speaks of a runtime that is down as if it ran: " + step.Do
		}
	}
	return ""
}

// TestPlansOfAllFindings: whatever two or three findings meet on a node, there is
// one list in which no step contradicts another.
func TestPlansOfAllFindings(t *testing.T) {
	all := found()
	check := func(loaded, placed bool, meet ...v1alpha1.Finding) {
		plan := planOf(loaded, placed, meet...)
		if wrong := contradiction(plan); wrong != "" {
			var text strings.Builder
			for _, f := range meet {
				fmt.Fprintf(&text, "%s (%s) ", f.Code, f.Message)
			}
			for _, s := range plan {
				fmt.Fprintf(&text, "\n  %s%s", where(s), s.Do)
			}
			t.Fatalf("loaded %v, placed %v: %s:\n%s", loaded, placed, wrong, &text)
		}
	}
	for i, a := range all {
		for j, b := range all[i:] {
			for _, c := range all[i+j:] {
				for way := range 4 {
					if meet := []v1alpha1.Finding{a, b, c}; way == 1 || way == 2 {
						check(way&1 == 0, way&2 == 0, meet...)
					} else {
						slices.Reverse(meet)
						check(way&1 == 0, way&2 == 0, meet...)
					}
				}
			}
		}
	}
}

// TestTheCauseComesBeforeTheStorm: a storm's step is one, and comes after what mends
// the cause.
func TestTheCauseComesBeforeTheStorm(t *testing.T) {
	for _, order := range [][]string{{v1alpha1.FindingRestartStorm, v1alpha1.FindingHandlerLost}, {v1alpha1.FindingHandlerLost, v1alpha1.FindingRestartStorm}} {
		var got []Phase
		for _, s := range planOf(false, true, v1alpha1.Finding{Code: order[0], Handler: "nvidia"}, v1alpha1.Finding{Code: order[1], Handler: "nvidia"}) {
			got = append(got, s.Phase)
		}
		if want := []Phase{Look, Mend, Mend, Watch, Check, Check, Drain, Restart, Again, Admit}; !slices.Equal(got, want) {
			t.Errorf("%v: phases %v, want %v", order, got, want)
		}
	}
}

// TestRemediesRestartLast: a remedy that restarts a runtime has said before what is
// to be mended or looked at, and says afterwards to look again.
func TestRemediesRestartLast(t *testing.T) {
	for _, code := range codes() {
		steps := Plan(ForFinding(v1alpha1.Finding{Code: code, Handler: "nvidia"}, sites[0].site))
		at := slices.IndexFunc(steps, func(s Step) bool { return s.Phase == Restart })
		if at < 0 {
			continue
		}
		if at == 0 || steps[at-1].Phase < Look {
			t.Errorf("%s: restarts first", code)
		}
		if last := slices.IndexFunc(steps, func(s Step) bool { return s.Phase == Again }); last < at {
			t.Errorf("%s: does not look again", code)
		}
	}
}

// TestOneStepForProgramsThatAreMissing: what the next start breaks for want of a program
// is said once, by the finding about that.
func TestOneStepForProgramsThatAreMissing(t *testing.T) {
	const reason = "its shim /opt/shim is not there"
	var said int
	for _, s := range planOf(true, true,
		v1alpha1.Finding{Code: v1alpha1.FindingExpiring, Handler: "nvidia", Message: "after the next restart none of its Pods can start: " + reason + "; mend the files"},
		v1alpha1.Finding{Code: config.CodeShimNotFound, Handler: "nvidia", Message: reason}) {
		said += strings.Count(s.Do, reason)
	}
	if said != 1 {
		t.Errorf("the reason is told %d times", said)
	}
}

func TestPlanKeepsEachStepOnce(t *testing.T) {
	one := []Step{{Phase: Again, Do: "c"}, {Phase: Look, Do: "a", On: "n"}}
	two := []Step{{Phase: Look, Do: "a", On: "n"}, {Phase: Look, Do: "a", On: "m"}, {Phase: Mend, Do: "b"}}
	var got []string
	for _, s := range Plan(one, two) {
		got = append(got, s.Do+s.On)
	}
	if want := []string{"an", "am", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRestartCommand(t *testing.T) {
	for want, r := range map[string]v1alpha1.Runtime{
		"systemctl restart containerd":            {Name: "containerd"},
		"systemctl restart crio":                  {Name: "cri-o"},
		"systemctl restart k3s-agent":             {Name: "containerd", Endpoint: "unix:///run/k3s/containerd/containerd.sock"},
		"systemctl restart k0sworker":             {Name: "containerd", Endpoint: "unix:///run/k0s/containerd.sock"},
		"snap restart microk8s.daemon-containerd": {Name: "containerd", Endpoint: "unix:///var/snap/microk8s/common/run/containerd.sock"},
		"systemctl restart docker":                {Name: "docker", Endpoint: "unix:///run/cri-dockerd.sock"},
	} {
		s := Site{Runtime: r}
		if got := s.restart()[0]; got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}

// TestAdviceFitsTheNode: what is to be done can be done there, and lasts.
func TestAdviceFitsTheNode(t *testing.T) {
	const generated = "/var/lib/rancher/rke2/agent/etc/containerd/config.toml"
	shim := []v1alpha1.Program{{Path: "/usr/bin/shim", State: v1alpha1.ProgramNotFound}}
	for name, tt := range map[string]struct {
		found      v1alpha1.Finding
		site       Site
		says, lies string
	}{
		"the default handler that is broken is no other one": {
			found: v1alpha1.Finding{Code: v1alpha1.FindingDefaultBroken, Handler: "runc", Message: "no runtime_type"},
			site:  sites[0].site, says: "to another that is loaded", lies: "such as runc",
		},
		"CRI-O has no imports": {
			found: v1alpha1.Finding{Code: config.CodeNotImported, Handler: "crun", File: "/etc/crio/conf.d/99.conf"},
			site:  sites[1].site, says: "Move the file", lies: "imports",
		},
		"a runtime that serves no CRI has not told why": {
			found: v1alpha1.Finding{Code: config.CodeCRIDisabled, Message: "its CRI plugin is disabled or has failed; see disabled_plugins in its configuration"},
			site:  Site{Down: true}, says: "another finding, ", lies: "disabled_plugins",
		},
		"a file that disables the CRI plugin has": {
			found: v1alpha1.Finding{Code: config.CodeCRIDisabled, File: "/etc/containerd/config.toml", Message: "would start but serve no Pods: disabled_plugins names io.containerd.grpc.v1.cri"},
			site:  sites[0].site, says: "must not be among disabled_plugins",
		},
		"a finding that says what to write": {
			found: v1alpha1.Finding{Code: config.CodeWrongParentTable, File: "/etc/containerd/config.toml", Handler: "nvidia", Message: `is lost; write [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]`},
			site:  sites[0].site, says: `write [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia].`,
		},
		"a file that would stop the node says nothing of what is loaded": {
			found: v1alpha1.Finding{Code: config.CodeDaemonWillNotStart, File: "/etc/containerd/config.toml", Message: "will not start"},
			site:  Site{Loaded: true}, says: "only if RestartPending is a finding then", lies: "No restart is needed",
		},
		"a program without a folder is looked for in PATH": {
			found: v1alpha1.Finding{Code: v1alpha1.FindingBroken, Handler: "nvidia"},
			site:  Site{Missing: []v1alpha1.Program{{Path: "containerd-shim-nvidia-v2", State: v1alpha1.ProgramNotFound}}},
			says:  "correct runtime_type in", lies: "NVIDIA toolkit",
		},
		"a path is corrected in the template": {
			found: v1alpha1.Finding{Code: v1alpha1.FindingBroken, Handler: "gvisor", File: generated, Line: 4},
			site:  Site{Missing: shim}, says: "in the template beside it",
		},
		"a program is installed in no template": {
			found: v1alpha1.Finding{Code: v1alpha1.FindingBroken, Handler: "gvisor", File: generated, Line: 4},
			site:  Site{Missing: []v1alpha1.Program{{Path: "/usr/bin/shim", State: v1alpha1.ProgramNotExecutable}}}, says: "Make /usr/bin/shim executable", lies: "template",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all strings.Builder
			for _, step := range Plan(ForFinding(tt.found, tt.site)) {
				fmt.Fprintln(&all, step.Do)
			}
			if got := all.String(); !strings.Contains(got, tt.says) || tt.lies != "" && strings.Contains(got, tt.lies) {
				t.Errorf("want %q, not %q, in:\n%s", tt.says, tt.lies, got)
			}
		})
	}
}

func TestImportThatMissesAFileIsNamed(t *testing.T) {
	found := v1alpha1.Finding{Code: config.CodeNotImported, File: "/etc/containerd/conf.d/99.toml", Line: 3, Handler: "nvidia",
		Message: `handler "nvidia" stands in a file that nothing reads: the pattern "conf.d/*.conf" of /etc/containerd/config.toml:2 does not match it; rename it`}
	want := `Mend /etc/containerd/conf.d/99.toml:3. Nothing reads this file: correct the pattern "conf.d/*.conf" at /etc/containerd/config.toml:2, or move the file to where it matches.`
	if got := ForFinding(found, sites[0].site)[0].Do; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
