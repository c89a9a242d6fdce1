package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/runtimegate/runtimegate/e2e/harness"
)

// TestDecisionsReachTheAuditLog looks for what an auditor would: which webhook
// decided what about which object, and why.
func TestDecisionsReachTheAuditLog(t *testing.T) {
	g := startGate(t)
	c := g.Cluster()
	must(t, c.AddNamespace(interrupted, "gpu-rt"))
	for _, manifest := range []string{"scenarios/typo/class.yaml", "scenarios/typo/pod.yaml"} {
		_, err := c.Command(interrupted, "", "kubectl", "create", "-f", manifest) // what it says is for the scenarios to check
		must(t, err)
	}
	tests := map[string]struct{ resource, name, webhook string }{
		"a warning": {"runtimeclasses", "nvidia-typo", "runtimeclasses.runtimegate.io"},
		"a denial":  {"pods", "probe-typo", "pods.runtimegate.io"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var notes map[string]string
			must(t, harness.Poll(interrupted, "the audit event", 10*time.Second, func(context.Context) (err error) {
				notes, err = auditNotes(c.AuditLog(), test.resource, test.name)
				return err
			}))
			if got := notes[test.webhook+"/condition"]; got != "Missing" {
				t.Errorf("condition: got %q, want Missing, in %q", got, notes)
			}
			if got := notes[test.webhook+"/detail"]; !strings.Contains(got, `"nvidia-typo"`) {
				t.Errorf("detail: got %q, want the handler in it, in %q", got, notes)
			}
		})
	}
}

// auditNotes finds the annotations of the audit event of an object's creation.
func auditNotes(path, resource, name string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var event struct {
			Verb        string
			ObjectRef   struct{ Resource, Name string }
			Annotations map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("the log's last line is not written yet: %w", err)
		}
		if event.Verb == "create" && event.ObjectRef.Resource == resource && event.ObjectRef.Name == name {
			return event.Annotations, nil
		}
	}
	return nil, fmt.Errorf("no creation of %s %q", resource, name)
}
