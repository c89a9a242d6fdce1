// Package promtool tests what the chart has for Prometheus and Grafana, with
// Prometheus' own rules, parser and promtool. It is a module of its own, so that
// their dependencies stay apart.
package promtool
