package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// A Scenario is a folder with a scenario.yaml, which says what the cluster is
// like, a session, which says what happens in it, and the session's manifests.
type Scenario struct {
	Dir        string   `json:"-"`
	About      string   `json:"about"`
	Gate       bool     `json:"gate"`  // runtimegate is installed and runs
	Serve      []string `json:"serve"` // more flags for it
	Scope      Scope    `json:"scope"` // All: it is asked about Pods without a class, too
	Namespaces []string `json:"namespaces"`
	Nodes      []Node   `json:"nodes"`
}

// LoadScenario reads the scenario of a folder.
func LoadScenario(dir string) (*Scenario, error) {
	path := filepath.Join(dir, "scenario.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Dir: dir}
	if err := yaml.UnmarshalStrict(content, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// SessionPath is the file of the scenario's session.
func (s *Scenario) SessionPath() string { return filepath.Join(s.Dir, "session") }

// SetUp makes the scenario's cluster as it is to be before its session.
func (s *Scenario) SetUp(ctx context.Context, c *Cluster, root string) error {
	if err := c.AddNodes(ctx, s.Nodes...); err != nil {
		return err
	}
	for _, name := range s.Namespaces {
		if err := c.AddNamespace(ctx, name); err != nil {
			return err
		}
	}
	if !s.Gate {
		return nil
	}
	_, err := s.InstallGate(ctx, c, root)
	return err
}

// InstallGate installs runtimegate, lets the nodes report, and starts it.
func (s *Scenario) InstallGate(ctx context.Context, c *Cluster, root string) (*Gate, error) {
	if err := c.Install(ctx, root); err != nil {
		return nil, err
	}
	for _, n := range s.Nodes {
		if n.Dump == "" {
			continue
		}
		if err := c.Report(ctx, n.Name, filepath.Join(s.Dir, n.Dump)); err != nil {
			return nil, err
		}
	}
	c.Scope = s.Scope
	return c.StartGate(ctx, s.Serve...)
}
