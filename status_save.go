package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// save writes what verdicts depend on as a snapshot, and says at which time it is to
// be judged. The file is there whole or not at all.
func (v *clusterView) save(path string) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("--save %s: %w", path, pathCause(err))
	}
	defer func() {
		file.Close()
		if err != nil {
			os.Remove(file.Name())
			err = fmt.Errorf("--save %s: %w", path, pathCause(err))
		}
	}()
	out := bufio.NewWriter(file)
	// One object a line: easy to compare with another snapshot.
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
	if err := out.Flush(); err != nil {
		return err
	}
	if err := file.Chmod(0o644); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	v.note("%s is saved; judge by it with --snapshot %s --now %s", path, path, v.time.UTC().Format(time.RFC3339))
	return nil
}
