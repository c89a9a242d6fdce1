// Package config says what a container runtime's configuration would load.
//
// It reads a runtime's own answers (a "containerd config dump") and the files
// behind them, and decides which runtime handlers they define. It knows no
// cluster, no client and no clock: input is bytes and file systems, output is
// plain values.
package config
