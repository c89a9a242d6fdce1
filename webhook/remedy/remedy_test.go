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
		Runtime: v1alpha1.Runtime{Name: "cri-o", Endpoint: "unix:///run/crio/crio.sock"},
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

// TestNeverRestartsFirst: whatever two findings meet on a node, a runtime is
// restarted only after files are mended and checked, and never after it was looked
// at for the last time.
func TestNeverRestartsFirst(t *testing.T) {
	for _, a := range codes() {
		for _, b := range codes() {
			var plans [][]Step
			for _, code := range []string{a, b} {
				plans = append(plans, ForFinding(v1alpha1.Finding{Code: code, Handler: "nvidia"}, sites[0].site))
			}
			restarted := false
			for _, step := range Plan(plans...) {
				restarts := strings.Contains(strings.Join(step.Run, " "), "systemctl restart")
				if restarted && !restarts && step.Phase != Restart && step.Phase != Again {
					t.Fatalf("%s and %s: %q comes after a restart", a, b, step.Do)
				}
				restarted = restarted || restarts
			}
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
		if steps[len(steps)-1].Phase != Again && code != config.CodeHigherDropInVersion {
			t.Errorf("%s: does not look again", code)
		}
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
