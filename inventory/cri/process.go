package cri

import (
	"path"
	"strings"
)

// A Process is what is known of a runtime's own process; empty is unknown.
type Process struct {
	// SearchPath is its PATH, where it looks for shims and OCI runtimes.
	SearchPath string
	// WorkDir is its working folder, from which relative paths start.
	WorkDir string
	// Config is the main configuration file that its command line names. The next
	// start may name another; where one is named that is the best that is known.
	Config string
}

// below is a path as the host has it whose root is that folder: that of another
// process is told from the root of this one, where both see the folder.
func below(root, name string) string {
	if name == root {
		return "/"
	}
	if inside, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/"); ok {
		return "/" + inside
	}
	return name
}

// configOf finds the file that a command line names, as those of containerd and
// CRI-O take it: -c FILE, --config FILE, --config=FILE.
func configOf(args []string, workDir string) (file string) {
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--config="); ok {
			file = value
		} else if value, ok := strings.CutPrefix(arg, "-c="); ok {
			file = value
		} else if (arg == "--config" || arg == "-c" || arg == "-config") && i+1 < len(args) {
			file = args[i+1]
		}
	}
	if file != "" && !path.IsAbs(file) {
		if workDir == "" {
			return ""
		}
		file = path.Join(workDir, file)
	}
	return file
}
