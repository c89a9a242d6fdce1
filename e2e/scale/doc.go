// Package scale measures serve in a cluster of many nodes: how long it takes to
// be ready, how much memory it takes, and how soon it knows what a node reports
// while all others report too. API server and serve are real; Nodes and
// NodeRuntimes are put into the API server's etcd, since no kubelet and no
// reporter is measured here, and 100,000 of them would need a machine each.
package scale
