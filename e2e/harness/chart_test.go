package harness

import (
	"path"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/e2e/build"
)

// reporterPaths are the folders of the node that the reporter sees with these
// values, each with where the kubelet must find it.
func reporterPaths(t *testing.T, reporter map[string]any) (paths []string) {
	t.Helper()
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := RenderChart(t.Context(), root, "runtimegate-system", map[string]any{"reporter": reporter})
	if err != nil {
		t.Fatal(err)
	}
	set := &appsv1.DaemonSet{}
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		if strings.Contains(document, "kind: DaemonSet") {
			if err := yaml.UnmarshalStrict([]byte(document), set); err != nil {
				t.Fatalf("%v in\n%s", err, document)
			}
		}
	}
	spec := set.Spec.Template.Spec
	for i, mount := range spec.Containers[0].VolumeMounts {
		source := spec.Volumes[i].HostPath
		if spec.Volumes[i].Name != mount.Name || path.Join("/host", source.Path) != mount.MountPath || !mount.ReadOnly {
			t.Errorf("%s is mounted as %+v", source.Path, mount)
		}
		paths = append(paths, source.Path+" "+string(*source.Type))
	}
	return paths
}

// The chart shows a reporter the socket and the configuration of every runtime
// that the reporter knows.
func TestChartShowsTheReporterItsRuntime(t *testing.T) {
	for _, l := range config.Locations {
		paths := reporterPaths(t, map[string]any{"distribution": strings.ToLower(l.Who)})
		for file, kind := range map[string]string{l.Socket: "Directory", l.Path: "DirectoryOrCreate"} {
			if !slices.Contains(paths, path.Dir(file)+" "+kind) && !slices.Contains(paths, path.Dir(file)+" Directory") {
				t.Errorf("%s: %s is not in %q", l.Who, file, paths)
			}
		}
	}
}

func TestChartShowsTheReporterNoMore(t *testing.T) {
	for name, tt := range map[string]struct {
		reporter map[string]any
		want     []string
	}{
		"by default":       {map[string]any{}, []string{"/run/containerd Directory", "/etc/containerd DirectoryOrCreate"}},
		"a folder more":    {map[string]any{"extraHostPaths": []any{"/opt/kata/containerd"}}, []string{"/run/containerd Directory", "/etc/containerd DirectoryOrCreate", "/opt/kata/containerd Directory"}},
		"other folders":    {map[string]any{"distribution": "", "extraHostPaths": []any{"/run/containerd", "/etc/cri"}}, []string{"/run/containerd Directory", "/etc/cri Directory"}},
		"the whole node":   {map[string]any{"hostRoot": true}, []string{"/ Directory"}},
		"not two of these": {map[string]any{"hostRoot": true, "extraHostPaths": []any{"/opt"}}, []string{"/ Directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reporterPaths(t, tt.reporter); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
