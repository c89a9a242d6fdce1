// Package cri asks a running container runtime, over its CRI socket, which
// handlers it has loaded, and finds that socket on a host. It only reads: it
// starts, stops and changes nothing.
package cri
