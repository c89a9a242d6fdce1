package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const cgroupRoot = "/sys/fs/cgroup"

// cgroupsV2 says whether there is one hierarchy for all controllers, and not one
// for each.
func cgroupsV2() bool {
	_, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.procs"))
	return err == nil
}

// lackingControllers are those that a kubelet insists on (pkg/kubelet/cm of
// Kubernetes 1.37) and would not find in a cgroup below the root.
func lackingControllers() (lacking []string) {
	if !cgroupsV2() {
		for _, name := range []string{"cpu", "cpuacct", "cpuset", "memory"} {
			if _, err := os.Stat(filepath.Join(cgroupRoot, name, "cgroup.procs")); err != nil {
				lacking = append(lacking, name)
			}
		}
		return lacking
	}
	controllers := func(file string) []string {
		content, _ := os.ReadFile(filepath.Join(cgroupRoot, file)) // without it there are none
		return strings.Fields(string(content))
	}
	there, passedOn := controllers("cgroup.controllers"), controllers("cgroup.subtree_control")
	for _, name := range []string{"cpu", "cpuset", "hugetlb", "memory", "pids"} {
		if slices.Contains(there, name) && !slices.Contains(passedOn, name) {
			lacking = append(lacking, name)
		}
	}
	return lacking
}

// A cgroup is the name of one below the root of every hierarchy.
type cgroup string

// newCgroup names one that is not there.
func newCgroup() cgroup { return cgroup("runtimegate-" + strings.ToLower(rand.Text()[:8])) }

// folders are where it is.
func (g cgroup) folders() []string {
	if cgroupsV2() {
		return []string{filepath.Join(cgroupRoot, string(g))}
	}
	hierarchies, _ := filepath.Glob(filepath.Join(cgroupRoot, "*", "cgroup.procs")) // the pattern is well formed
	var folders []string
	for _, file := range hierarchies {
		folders = append(folders, filepath.Join(filepath.Dir(file), string(g)))
	}
	return folders
}

func (g cgroup) make() error {
	for _, folder := range g.folders() {
		// Two names may lead to one hierarchy: cpu and cpu,cpuacct.
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// remove removes it with all below it. The kernel may need a moment to see that
// the last process in it is gone.
func (g cgroup) remove() error {
	return Poll(context.Background(), "cgroup "+string(g)+" to be gone", 10*time.Second, func(context.Context) error {
		var left error
		for _, folder := range g.folders() {
			var all []string
			_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					all = append(all, path)
				}
				return nil // what has just gone is no error
			})
			for _, path := range slices.Backward(all) {
				if err := syscall.Rmdir(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					left = errors.Join(left, &fs.PathError{Op: "rmdir", Path: path, Err: err})
				}
			}
		}
		return left
	})
}
