package cri

// A Process is what is known of a runtime's own process; empty is unknown.
type Process struct {
	// SearchPath is its PATH, where it looks for shims and OCI runtimes.
	SearchPath string
	// WorkDir is its working folder, from which relative paths start.
	WorkDir string
}
