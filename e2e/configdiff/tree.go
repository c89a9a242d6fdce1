package configdiff

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func sortedNames(files map[string]string) []string {
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// write lays the tree out in dir, which it makes.
func (t Tree) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range t.Files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		content = strings.ReplaceAll(content, DirMark, dir)
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, []byte(content), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shrink leaves files and lines out as long as the tree still fails.
func shrink(t Tree, fails func(Tree) bool) Tree {
	try := func(name string, content string, remove bool) bool {
		smaller := Tree{Files: map[string]string{}}
		for n, c := range t.Files {
			smaller.Files[n] = c
		}
		if remove {
			delete(smaller.Files, name)
		} else {
			smaller.Files[name] = content
		}
		if !fails(smaller) {
			return false
		}
		t = smaller
		return true
	}
	for _, name := range sortedNames(t.Files) {
		if try(name, "", true) {
			continue
		}
		for i := 0; ; {
			lines := strings.SplitAfter(t.Files[name], "\n")
			if i >= len(lines) {
				break
			}
			if lines[i] == "" || !try(name, strings.Join(slices.Delete(lines, i, i+1), ""), false) {
				i++
			}
		}
	}
	return t
}
