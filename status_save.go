package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// save writes what verdicts depend on as a snapshot, and says at which time it is to
// be judged. The file is there whole or not at all.
func (v *clusterView) save(path string) error {
	if err := v.saveFile(path); err != nil {
		return fmt.Errorf("--save %s: %w", path, pathCause(err))
	}
	v.note("%s is saved; judge by it with --snapshot %s --now %s", path, path, v.time.UTC().Format(time.RFC3339))
	return nil
}

// saveFile puts the snapshot in place of a file, or makes one that only its owner
// can read. A link is followed, and what is there keeps its mode and owner.
func (v *clusterView) saveFile(path string) (err error) {
	path, old, err := saveTarget(path)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		file.Close()
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	if err := v.writeSnapshot(file); err != nil {
		return err
	}
	if old != nil {
		if err := keepOwner(file, old); err != nil {
			return err
		}
		if err := file.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// saveTarget is the file itself that a path leads to, and what is there; nil if
// nothing is. Devices, pipes and folders are not to be replaced.
func saveTarget(path string) (string, fs.FileInfo, error) {
	old, err := os.Stat(path)
	switch {
	case err == nil && !old.Mode().IsRegular():
		return "", nil, errors.New("it is no regular file, so it is not replaced; - is stdout")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", nil, err
	case err == nil:
		path, err = filepath.EvalSymlinks(path)
		return path, old, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", nil, errors.New("it is a link to a file that is not there")
	}
	return path, nil, nil
}

// writeSnapshot writes the snapshot, one object a line: easy to compare with
// another.
func (v *clusterView) writeSnapshot(w io.Writer) error {
	out := bufio.NewWriter(w)
	separator := `{"apiVersion": "v1", "kind": "List", "items": [` + "\n"
	for _, object := range v.state.Objects() {
		data, err := json.Marshal(object)
		if err != nil {
			return err
		}
		_, _ = out.WriteString(separator)
		_, _ = out.Write(data)
		separator = ",\n"
	}
	if separator[0] == '{' {
		_, _ = out.WriteString(separator)
	}
	_, _ = out.WriteString("\n]}\n")
	return out.Flush()
}
