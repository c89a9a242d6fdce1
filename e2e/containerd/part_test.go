package containerd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// TestPartOfTheNode: a reporter that sees the folders of the socket and of the
// configuration only takes nothing outside of them for absent.
func TestPartOfTheNode(t *testing.T) {
	n := newNode(t, "2.4")
	must(t, n.Write("opt/kata/kata.toml", n.dropIn("kata"), 0o644))
	must(t, n.Write(file, "version = 3\nimports = ['../../../opt/kata/kata.toml']\n", 0o644))
	must(t, n.Start(interrupted))
	n.want("of the whole node", "kata runc", "kata runc")
	for _, dir := range []string{"opt", "usr"} {
		must(t, os.RemoveAll(filepath.Join(n.Dir, dir)))
	}
	spec := n.report()
	if len(spec.Findings) != 1 || spec.Findings[0].Code != v1alpha1.FindingNextUnknown || !strings.Contains(spec.Findings[0].Message, "/opt/kata/kata.toml") || spec.Next != nil {
		t.Errorf("of a part of the node: next %+v, findings %+v", spec.Next, spec.Findings)
	}
	for _, h := range spec.Handlers {
		for _, p := range []*v1alpha1.Program{h.Shim, h.Binary} {
			if p != nil && p.State != v1alpha1.ProgramUnchecked {
				t.Errorf("%s: %+v of a program that can't be seen", h.Name, p)
			}
		}
	}
	must(t, n.Remove(file))
	spec = n.report()
	if len(spec.Findings) != 1 || spec.Findings[0].Code != v1alpha1.FindingExpiring || spec.Findings[0].Handler != "kata" {
		t.Errorf("without the import: findings %+v", spec.Findings)
	}
}
