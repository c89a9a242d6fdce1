//go:build !linux

package main

// programReleaser is for Linux, where agents run.
func programReleaser() (release func()) { return func() {} }
