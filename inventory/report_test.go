package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

func readDump(t *testing.T, name, content string) *config.Dump {
	t.Helper()
	dump, err := config.ReadDump(strings.NewReader(content), name)
	if err != nil {
		t.Fatal(err)
	}
	return dump
}

// Each real dump makes a NodeRuntime within the bounds of its schema, or is
// refused for a reason.
func TestFromDumpOfRealContainerd(t *testing.T) {
	files, err := filepath.Glob("../config/testdata/dumps/*.toml")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d dumps: %v", len(files), err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dump := readDump(t, file, string(content))
		got, err := FromDump(dump, "n", now)
		if dump.State != config.CRIOn {
			if err == nil {
				t.Errorf("%s: published although CRI is off", file)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for i, h := range got.Spec.Handlers {
			if presence, _ := dump.Look(h.Name); presence != config.Present || i > 0 && got.Spec.Handlers[i-1].Name >= h.Name {
				t.Errorf("%s: handler %q is not loaded, or not in order", file, h.Name)
			}
		}
		if len(got.Spec.Findings) > v1alpha1.MaxFindings {
			t.Errorf("%s: %d findings", file, len(got.Spec.Findings))
		}
	}
}

func TestFromDumpFindings(t *testing.T) {
	const head = "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\ndefault_runtime_name = \"runc\"\n"
	const table = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes."
	many := head
	for i := range v1alpha1.MaxHandlers {
		many += fmt.Sprintf("%sh%d]\n", table, i)
	}
	codes := func(r *v1alpha1.NodeRuntime) (codes []string) {
		for _, f := range r.Spec.Findings {
			codes = append(codes, f.Code)
		}
		return codes
	}

	got, err := FromDump(readDump(t, "config.toml", head+table+"a]\n"+table+"runc]\nruntime_type = \"io.containerd.runc.v2\"\n"), "n", now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"RuntimeTypeEmpty", "DumpNotProof"}, codes(got)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if got.Spec.Handlers[0].Shim.State != v1alpha1.ProgramNotFound || got.Spec.Handlers[1].Shim != nil {
		t.Errorf("handlers: %+v", got.Spec.Handlers)
	}
	want := &v1alpha1.Summary{Runtime: "containerd", Handlers: "a, runc", Findings: "RuntimeTypeEmpty, DumpNotProof"}
	if diff := cmp.Diff(want, got.Spec.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}

	if got, err = FromDump(readDump(t, "config.toml", many), "n", now); err != nil {
		t.Fatal(err)
	}
	if all := codes(got); len(all) != v1alpha1.MaxFindings || all[len(all)-1] != v1alpha1.FindingDumpNotProof {
		t.Errorf("of too many findings the one that says that the list is not complete must stay: %q", all)
	}
	if _, err = FromDump(readDump(t, "config.toml", many+table+"one-more]\n"), "n", now); err == nil {
		t.Error("more handlers than a NodeRuntime holds: published, with one missing")
	}
}
