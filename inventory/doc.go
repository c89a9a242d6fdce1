// Package inventory knows what the container runtime of every node has loaded,
// and answers which nodes a Pod may land on and which of them have a handler.
//
// It decides nothing about what may pass: that is package webhook.
package inventory
