package config

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// programDirs are folders in which installers leave shims and OCI runtimes
// without any PATH that leads there.
var programDirs = []string{
	"/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin",
	"/usr/local/nvidia/toolkit", "/opt/kata/bin", "/opt/kwasm/bin", "/opt/gvisor", "/opt/bin",
	"/var/lib/rancher/k3s/data/current/bin", "/var/lib/k0s/bin",
}

// maxNear bounds how many near misses are named.
const maxNear = 3

var shimVersion = regexp.MustCompile(`^(containerd-shim-.+)-v[0-9]+$`)

// near names programs that may have been meant by one that is not there: the
// same name elsewhere, the same shim in another version, a name like it. The
// nearest come first.
func (p *Prober) near(name string) []string {
	dirs := slices.Clone(p.path)
	if path.IsAbs(name) {
		dirs = append([]string{path.Dir(name)}, dirs...)
	}
	dirs = append(append(dirs, p.beside), programDirs...)
	base, seen := path.Base(name), map[string]bool{}
	var found [nearNot][]string
	for _, dir := range dirs {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		for _, e := range p.entries(dir) {
			file := path.Join(dir, e)
			kind := nearKind(base, e)
			if kind != nearNot && file != name && p.host.Executable(file) == nil {
				found[kind] = append(found[kind], file)
			}
		}
	}
	all := slices.Concat(found[:]...)
	return all[:min(len(all), maxNear)]
}

// entries are the names in a folder, none when it can't be read.
func (p *Prober) entries(dir string) []string {
	names, ok := p.listed[dir]
	if !ok {
		entries, _ := p.host.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		p.listed[dir] = names
	}
	return names
}

// How a program's name is like the wanted one, nearest first.
const (
	nearSame = iota
	nearVersion
	nearAlike
	nearNot
)

func nearKind(want, have string) int {
	wantShim, haveShim := shimVersion.FindStringSubmatch(want), shimVersion.FindStringSubmatch(have)
	switch {
	case want == have:
		return nearSame
	case (wantShim == nil) != (haveShim == nil):
		return nearNot
	case wantShim != nil && wantShim[1] == haveShim[1]:
		return nearVersion
	case wantShim != nil:
		// The common beginning of all shims would make any two of them alike.
		want, have = strings.TrimPrefix(wantShim[1], "containerd-shim-"), strings.TrimPrefix(haveShim[1], "containerd-shim-")
	}
	// Typing errors only: of nvidia-container-runtime, the -hook is not a near miss.
	if runtimes[want] && runtimes[have] || len(want) < 4 || len(have) > maxNearestLen || editDistance(want, have) > 1+len(want)/8 {
		return nearNot
	}
	return nearAlike
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// bareCause is the cause of an error of a path that is named elsewhere.
func bareCause(err error) string {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return perr.Err.Error()
	}
	return err.Error()
}
