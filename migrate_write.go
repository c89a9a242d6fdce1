package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/runtimegate/runtimegate/config"
)

// A fileWriter writes files below a root, all or none. os.Root keeps it inside,
// whatever becomes of links meanwhile.
type fileWriter struct {
	root  *os.Root
	stamp string
	// patterns are those of imports: a runtime would read a backup that one of
	// them matches.
	patterns []string

	staged []*stagedFile
}

// A stagedFile is a file that is about to be replaced.
type stagedFile struct {
	*config.UpgradedFile
	temp, backup string
	replaced     bool
}

// write replaces the files that are changed. All new and all old contents are on
// disk before the first is replaced; when something fails, what was replaced is
// put back.
func (w *fileWriter) write(files []config.UpgradedFile) ([]writtenFile, error) {
	for i := range files {
		if !files[i].Changed() {
			continue
		}
		if err := w.stage(&files[i]); err != nil {
			return nil, w.back(fmt.Errorf("write %s: %w", files[i].Path, err))
		}
	}
	return w.replace()
}

// replace puts the staged files in place of the old ones.
func (w *fileWriter) replace() ([]writtenFile, error) {
	written := []writtenFile{}
	for _, s := range w.staged {
		if err := w.rename(s.temp, s.Real); err != nil {
			return nil, w.back(fmt.Errorf("write %s: %w", s.Path, err))
		}
		s.replaced = true
		written = append(written, writtenFile{File: s.Path, Backup: "/" + s.backup, Replaced: "/" + s.Real})
	}
	return written, nil
}

// rename puts one file in place of another; its errors name neither.
func (w *fileWriter) rename(from, to string) error {
	err := w.root.Rename(from, to)
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

// stage writes the new content and a copy of the old one beside the file.
func (w *fileWriter) stage(f *config.UpgradedFile) error {
	s := &stagedFile{UpgradedFile: f}
	w.staged = append(w.staged, s)
	info, err := w.root.Lstat(f.Real)
	if err != nil {
		return pathCause(err)
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file any more")
	}
	now, err := w.root.ReadFile(f.Real)
	if err != nil {
		return pathCause(err)
	}
	if !bytes.Equal(now, f.Old) {
		return errors.New("it was changed meanwhile: try again")
	}
	name, err := w.backupOf(f.Real)
	if err != nil {
		return err
	}
	if err := w.create(name, f.Old, info); err != nil {
		return fmt.Errorf("keep the old one: %w", err)
	}
	s.backup = name
	temp := path.Join(path.Dir(f.Real), "."+path.Base(f.Real)+"."+rand.Text()[:8])
	if err := w.create(temp, f.New, info); err != nil {
		return err
	}
	s.temp = temp
	return nil
}

// backupOf is where the old file is kept: beside it, unless the runtime would
// read it there.
func (w *fileWriter) backupOf(name string) (string, error) {
	name += ".runtimegate-" + w.stamp
	for _, pattern := range w.patterns {
		if ok, _ := path.Match(pattern, "/"+name); ok {
			return "", fmt.Errorf("the runtime would read the old file as well, since the import %q matches %s: make it match .toml files only", pattern, path.Base(name))
		}
	}
	return name, nil
}

// create writes a file that is not there yet, with mode and owner of another.
func (w *fileWriter) create(name string, content []byte, like fs.FileInfo) (err error) {
	file, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already", path.Base(name))
		}
		return pathCause(err)
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			err = errors.Join(pathCause(err), w.root.Remove(name))
		}
	}()
	if _, err := io.Copy(file, bytes.NewReader(content)); err != nil {
		return err
	}
	if err := keepOwner(file, like); err != nil {
		return err
	}
	if err := file.Chmod(like.Mode().Perm()); err != nil {
		return err
	}
	return file.Sync()
}

// back undoes all: what was replaced gets its old content, and nothing of what
// was staged is left. It returns the cause with what became of it.
func (w *fileWriter) back(cause error) error {
	var left []error
	for _, s := range w.staged {
		if s.replaced {
			if err := w.rename(s.backup, s.Real); err != nil {
				left = append(left, fmt.Errorf("%s could not be put back (%w): its old content is in /%s", s.Path, err, s.backup))
			}
			continue
		}
		for _, name := range []string{s.temp, s.backup} {
			if name != "" {
				_ = w.root.Remove(name)
			}
		}
	}
	if len(left) > 0 {
		return errors.Join(append([]error{cause}, left...)...)
	}
	return fmt.Errorf("%w; all files are as they were", cause)
}
