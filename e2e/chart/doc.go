// Package chart documents the values of the Helm chart, from the comments of its
// values.yaml, in its README.md and in the schema; its tests check the chart
// without a cluster.
package chart
