package chart

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

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
