// Package configdiff compares package config with real builds of containerd:
// for generated configurations both must give the same answer.
//
// The containerd of each class of versions has a module of its own in
// ../containerd, since a module can require one version of containerd only.
package configdiff
