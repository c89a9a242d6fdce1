// Package peers has the servers that package bench compares runtimegate with, a
// program for each. It is a module of its own, so that what they need stays apart
// from the tests; gatekeeper is another, since it needs an older k8s.io/apiserver.
package peers
