package config

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The runtimes whose configuration this package reads.
const (
	Containerd = "containerd"
	CRIO       = "cri-o"
)

// A Runtime is a container runtime in one version.
type Runtime struct {
	// Name is Containerd or CRIO.
	Name string
	// Version is as given, without a leading "v": "2.4.2".
	Version string

	major, minorOf, patch int
}

var versionText = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:[-+~].*)?$`)

// ParseRuntime reads "2.4.2", "v1.7.27-1", "containerd://2.4.2" (as a Node's
// status has it) or "cri-o 1.37.0". A bare version is containerd's.
func ParseRuntime(text string) (Runtime, error) {
	name, version := Containerd, strings.TrimSpace(text)
	for _, sep := range []string{"://", " ", "@"} {
		if before, after, ok := strings.Cut(version, sep); ok {
			name, version = before, strings.TrimSpace(after)
			break
		}
	}
	switch strings.ToLower(name) {
	case Containerd:
		name = Containerd
	case CRIO, "crio":
		name = CRIO
	default:
		return Runtime{}, fmt.Errorf("runtime %q: want containerd or cri-o", name)
	}
	m := versionText.FindStringSubmatch(version)
	if m == nil {
		return Runtime{}, fmt.Errorf("version %q: want one like 2.4.2", version)
	}
	r := Runtime{Name: name, Version: strings.TrimPrefix(version, "v")}
	r.major, _ = strconv.Atoi(m[1])
	r.minorOf, _ = strconv.Atoi(m[2])
	r.patch, _ = strconv.Atoi(m[3])
	if m[3] == "" {
		// Of a minor alone, its latest patch is the likely one.
		r.patch = latestPatch
	}
	return r, nil
}

// latestPatch stands for the newest patch release of a minor version.
const latestPatch = 9999

func (r Runtime) String() string { return r.Name + " " + r.Version }

// compare says whether r is before (-1), at (0) or after (1) that version.
func (r Runtime) compare(major, minor, patch int) int {
	return cmp.Or(cmp.Compare(r.major, major), cmp.Compare(r.minorOf, minor), cmp.Compare(r.patch, patch))
}

func (r Runtime) atLeast(major, minor, patch int) bool { return r.compare(major, minor, patch) >= 0 }

// sinceIn says whether r has what was brought to the 1.6 branch in 1.6.a and
// to the 1.7 branch in 1.7.b, and is in everything after.
func (r Runtime) sinceIn(a, b int) bool {
	if r.compare(1, 7, 0) < 0 {
		return r.atLeast(1, 6, a)
	}
	return r.atLeast(1, 7, b)
}

// A class is a group of containerd versions that load files by the same rules.
type class int

const (
	// classA are 1.6 and 1.7: plugin sections replaced whole, one old name.
	classA class = iota
	// classB are 2.0 to 2.2: deep merge, then one migration of the result.
	classB
	// classC are 2.3.0 to 2.3.4: each file migrated before the merge; no file
	// may have a version above the root's.
	classC
	// classD are 2.3.5 and later: as C without that refusal.
	classD
)

func (r Runtime) class() class {
	switch {
	case r.compare(2, 0, 0) < 0:
		return classA
	case r.compare(2, 3, 0) < 0:
		return classB
	case r.compare(2, 3, 5) < 0:
		return classC
	}
	return classD
}

// configVersion is the newest config version that r reads.
func (r Runtime) configVersion() int {
	switch r.class() {
	case classA:
		return 2
	case classB:
		return 3
	}
	return 4
}

// The versions that these rules were measured with.
const (
	firstKnown = "1.6"
	lastKnown  = "2.4"
)

// note says how far the rules are known to hold for r; empty when they are.
func (r Runtime) note() string {
	switch {
	case r.Name == Containerd && r.compare(1, 6, 0) < 0:
		return fmt.Sprintf("containerd %s is older than %s: it is read as %s is", r.Version, firstKnown, firstKnown)
	case r.Name == Containerd && r.atLeast(2, 5, 0):
		return fmt.Sprintf("containerd %s is newer than %s, the last these rules were measured with: it is read as %s is", r.Version, lastKnown, lastKnown)
	}
	return ""
}

// dumpMigrates is false for 2.0.0 to 2.0.5, whose "config dump" prints a
// version 2 file's section under its old name only (containerd#11600), though
// the daemon migrates it.
func (r Runtime) dumpMigrates() bool {
	return r.class() != classB || r.atLeast(2, 0, 6)
}

// The names of the CRI plugins.
const (
	shortCRI   = "cri"
	oldCRI     = "io.containerd.grpc.v1.cri"
	runtimeCRI = "io.containerd.cri.v1.runtime"
	imagesCRI  = "io.containerd.cri.v1.images"
)
