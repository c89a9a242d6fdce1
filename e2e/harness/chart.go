package harness

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

// Release is the name of the chart's release, and of what it makes.
const Release = "runtimegate"

// RenderChart renders the chart as "helm template" does, without its CRDs: all
// templates, or those named.
func RenderChart(ctx context.Context, root, namespace string, values map[string]any, only ...string) (string, error) {
	chart, err := loader.LoadDir(filepath.Join(root, "charts/runtimegate"))
	if err != nil {
		return "", fmt.Errorf("load the chart: %w", err)
	}
	all, err := util.ToRenderValues(chart, values, common.ReleaseOptions{Name: Release, Namespace: namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return "", fmt.Errorf("values of the chart: %w", err)
	}
	files, err := engine.Engine{Strict: true}.RenderWithContext(ctx, chart, all)
	if err != nil {
		return "", fmt.Errorf("render the chart: %w", err)
	}
	var manifests strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		wanted := len(only) == 0 || slices.Contains(only, strings.TrimPrefix(name, "runtimegate/templates/"))
		if wanted && strings.HasSuffix(name, ".yaml") && strings.TrimSpace(files[name]) != "" {
			fmt.Fprintf(&manifests, "---\n# Source: %s\n%s\n", name, files[name])
		}
	}
	return manifests.String(), nil
}

// InstallChart puts what templates of the chart make into a namespace of the
// cluster.
func (c *Cluster) InstallChart(ctx context.Context, root, namespace string, values map[string]any, templates ...string) error {
	manifests, err := RenderChart(ctx, root, namespace, values, templates...)
	if err != nil {
		return err
	}
	_, err = c.Must(ctx, manifests, "kubectl", "apply", "--server-side", "--validate=strict", "-f", "-")
	return err
}

// InstallCRDs makes runtimegate's kinds known to the cluster.
func (c *Cluster) InstallCRDs(ctx context.Context, root string) error {
	crds := filepath.Join(root, "charts/runtimegate/crds")
	if _, err := c.Must(ctx, "", "kubectl", "create", "-f", crds); err != nil {
		return err
	}
	_, err := c.Must(ctx, "", "kubectl", "wait", "--for=condition=Established", "--timeout=60s", "-f", crds)
	return err
}
