package configdiff

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const recorded = "../../config/testdata/truth/cases"

// TestLoadAgreesWithContainerdOnRecordedTrees runs the trees whose answers
// package config keeps through the programs again.
func TestLoadAgreesWithContainerdOnRecordedTrees(t *testing.T) {
	cases, err := os.ReadDir(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for short, version := range versions {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), short) {
			continue
		}
		t.Run("containerd-"+version, func(t *testing.T) {
			program := programOf(t, short)
			for _, entry := range cases {
				tree := readTree(t, filepath.Join(recorded, entry.Name()))
				if diff, _ := compare(t, program, version, filepath.Join(t.TempDir(), "tree"), tree); diff != "" {
					t.Errorf("%s with containerd %s (-containerd +ours):\n%s", entry.Name(), version, diff)
				}
			}
			t.Logf("containerd %s: %d recorded trees", version, len(cases))
		})
	}
}

func readTree(t *testing.T, dir string) Tree {
	t.Helper()
	tree := Tree{Files: map[string]string{}}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			tree.Files[name] = "-> " + target
			return err
		}
		content, err := os.ReadFile(path)
		tree.Files[name] = strings.ReplaceAll(string(content), "@DIR@", DirMark)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
