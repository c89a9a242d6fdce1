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

// isStdout tells whether a path leads to where the output goes, as /dev/stdout: one
// of the two would be lost, or both mixed.
func isStdout(path string, out io.Writer) bool {
	stdout, ok := out.(*os.File)
	if !ok || path == "" {
		return false
	}
	at, err := os.Stat(path)
	if err != nil {
		return false
	}
	is, err := stdout.Stat()
	return err == nil && os.SameFile(at, is)
}

// saveFile puts the snapshot in place of a file, or makes one that only its owner
// can read. A link is followed, and what is there keeps its mode and owner. Devices
// and pipes are written to: nothing can take their place.
func (v *clusterView) saveFile(path string) (err error) {
	path, old, err := saveTarget(path)
	if err != nil {
		return err
	}
	if old != nil && !old.Mode().IsRegular() {
		return v.writeTo(path)
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

// writeTo writes the snapshot to what is there.
func (v *clusterView) writeTo(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(v.writeSnapshot(file), file.Close())
}

// saveTarget is the file itself that a path leads to, and what is there; nil if
// nothing is. What is no file is not looked for further: a pipe may have no name.
func saveTarget(path string) (string, fs.FileInfo, error) {
	old, err := os.Stat(path)
	switch {
	case err == nil && old.IsDir():
		return "", nil, errors.New("it is a folder")
	case err == nil && !old.Mode().IsRegular():
		return path, old, nil
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
