package config

import (
	"slices"
	"strings"
)

// The shims for runc; the second is that of the built-in handler.
const (
	runcV1  = "io.containerd.runc.v1"
	runcV2  = "io.containerd.runc.v2"
	linuxV1 = "io.containerd.runtime.v1.linux"
)

// removedShims came with containerd up to 1.7.
var removedShims = map[string]string{
	runcV1: "containerd 2.0 no longer has the shim of io.containerd.runc.v1: set runtime_type to io.containerd.runc.v2, which takes the same options",
	linuxV1: "containerd 2.0 no longer has io.containerd.runtime.v1.linux: set runtime_type to io.containerd.runc.v2, " +
		"whose options BinaryName, Root and SystemdCgroup stand for runtime_engine, runtime_root and systemd_cgroup, or for its options Runtime, RuntimeRoot and SystemdCgroup",
}

// isNewShim tells whether a setting is the type of a handler whose shim containerd
// 2.0 has dropped, and which has got another one.
func isNewShim(path string, was, is any) bool {
	old, _ := was.(string)
	return strings.HasSuffix(path, pathSep+"runtime_type") && removedShims[old] != "" && is == runcV2
}

// notLikeV2 are the keys of a handler with which another shim does other things.
// The options of runc.v1 are those of runc.v2; those of the one before have other
// names, and without them the CRI plugin makes them of other keys.
var notLikeV2 = map[string][]string{
	runcV1:  {"runtime_path"},
	linuxV1: {"runtime_path", "runtime_engine", "runtime_root", "options"},
}

// newShim is the shim to write for a handler whose own containerd 2.0 has dropped; ""
// where that would not do the same. to is where the statement belongs.
func (r *rewriter) newShim(st *statement, to []string) string {
	keys := notLikeV2[st.value]
	if keys == nil || !st.scalar || !r.to.atLeast(2, 0, 0) || len(to) != 6 || !criTable(to[:5], runtimeCRI) || to[5] != "runtime_type" {
		return ""
	}
	other := st.value == linuxV1 && r.linux
	for _, s := range r.draft.statements {
		if s.header || isNothing(s) {
			continue
		}
		for _, path := range append([][]string{s.path}, s.below...) {
			at := r.move(path)
			other = other || len(at) > 5 && slices.Equal(at[:5], to[:5]) && slices.Contains(keys, at[5])
		}
		// What the CRI plugin hands to this one shim only.
		key := s.path[len(s.path)-1]
		other = other || st.value == linuxV1 && (key == "systemd_cgroup" || key == "no_pivot")
	}
	if other {
		return ""
	}
	return runcV2
}

// configuresLinux tells whether files set up the runtime plugin of linuxV1.
func configuresLinux(files []*File) bool {
	return slices.ContainsFunc(files, func(f *File) bool {
		_, full := f.doc.below("plugins", linuxV1)
		_, short := f.doc.below("plugins", "linux")
		return full || short
	})
}
