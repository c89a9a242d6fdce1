package chart

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/e2e/build"
)

var update = flag.Bool("update", false, "write the files that are generated, and what the templates make")

// folder is the chart's.
func folder(t *testing.T) string {
	t.Helper()
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "charts/runtimegate")
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// expect compares a file with what it should hold.
func expect(t *testing.T, path, want, mend string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is := string(read(t, path)); is != want {
		t.Errorf("%s is out of date: %s", path, mend)
	}
}

func TestDocs(t *testing.T) {
	schema := read(t, filepath.Join(folder(t), "values.schema.json"))
	open, err := Open(schema)
	if err != nil {
		t.Fatal(err)
	}
	values, err := ReadValues(read(t, filepath.Join(folder(t), "values.yaml")), open)
	if err != nil {
		t.Fatal(err)
	}
	described, err := Describe(schema, values)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, filepath.Join(folder(t), "values.schema.json"), string(described), "make generate")
	expect(t, filepath.Join(folder(t), "README.md"), README(values), "make generate")
}

// TestArtifactHub checks what Artifact Hub is told of the chart.
func TestArtifactHub(t *testing.T) {
	var chart struct {
		AppVersion  string            `json:"appVersion"`
		Annotations map[string]string `json:"annotations"`
	}
	parse(t, read(t, filepath.Join(folder(t), "Chart.yaml")), &chart)
	annotation := func(name string, into any) {
		t.Helper()
		parse(t, []byte(chart.Annotations["artifacthub.io/"+name]), into)
	}
	var images []struct{ Image string }
	annotation("images", &images)
	if len(images) != 1 || !strings.HasSuffix(images[0].Image, ":"+chart.AppVersion) {
		t.Errorf("images: got %v, want one of %s", images, chart.AppVersion)
	}
	var told []struct{ Kind, Version, Name string }
	annotation("crds", &told)
	var examples []struct{ APIVersion, Kind string }
	annotation("crdsExamples", &examples)
	crds, err := filepath.Glob(filepath.Join(folder(t), "crds/*.yaml"))
	if err != nil || len(crds) == 0 || len(told) != len(crds) {
		t.Fatalf("of %q is told %v", crds, told)
	}
	for i, path := range crds {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		parse(t, read(t, path), crd)
		if told[i].Name != crd.Name || told[i].Kind != crd.Spec.Names.Kind || told[i].Version != crd.Spec.Versions[0].Name {
			t.Errorf("of %s is told %v", crd.Name, told[i])
		}
	}
}

func parse(t *testing.T, content []byte, into any) {
	t.Helper()
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%v in\n%s", err, content)
	}
}
