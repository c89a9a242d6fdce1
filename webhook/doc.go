// Package webhook decides what may pass: it judges Pods and RuntimeClasses by
// the handlers they ask for and what package inventory knows of the nodes, and
// answers the API server's admission reviews.
//
// Judging is plain functions over plain values (judge.go); clients, clocks and
// the network stay in the reviewers and the server around them.
package webhook
