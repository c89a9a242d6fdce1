// Package schedulerdiff compares, in its tests, which nodes runtimegate takes
// for candidates with what the filters of the real scheduler and the admission
// of the real kubelet allow on a node with nothing on it.
package schedulerdiff
