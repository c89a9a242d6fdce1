package hostfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// maxMatches bounds what one pattern may match.
const maxMatches = 200_000

func sortEntries(entries []fs.DirEntry) {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}

// Glob returns the paths that match the absolute pattern as filepath.Glob on
// the host would: folders in bytewise order, hidden files included, errors of
// unreadable folders ignored, filepath.ErrBadPattern the only syntax error.
// Beyond that it only fails with ErrRefused.
func (f *FS) Glob(pattern string) ([]string, error) {
	// filepath.Glob's own limit is 10000; each level is a recursion here.
	if strings.Count(pattern, "/") > 1000 {
		return nil, filepath.ErrBadPattern
	}
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, err
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		// A broken link matches: filepath.Glob asks Lstat.
		if _, _, err := f.walk(pattern, false, nil); err != nil {
			return nil, nil
		}
		return []string{pattern}, nil
	}
	dir, file := filepath.Split(pattern)
	if dir = strings.TrimSuffix(dir, "/"); dir == "" {
		dir = "/"
	}
	if dir == pattern {
		return nil, filepath.ErrBadPattern
	}
	dirs := []string{dir}
	if strings.ContainsAny(dir, `*?[\`) {
		var err error
		if dirs, err = f.Glob(dir); err != nil {
			return nil, err
		}
	}
	var matches []string
	for _, dir := range dirs {
		entries, err := f.ReadDir(dir)
		if errors.Is(err, ErrRefused) {
			return nil, err
		}
		for _, e := range entries {
			if ok, err := filepath.Match(file, e.Name()); err != nil {
				return nil, err
			} else if ok {
				matches = append(matches, filepath.Join(dir, e.Name()))
			}
		}
		if len(matches) > maxMatches {
			return nil, &fs.PathError{Op: "glob", Path: pattern, Err: ErrRefused}
		}
	}
	return matches, nil
}
