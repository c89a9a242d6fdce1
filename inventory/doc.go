// Package inventory knows what the container runtime of every node has loaded,
// and answers which nodes a Pod may land on and which of them have a handler.
//
// It decides nothing about what may pass: that is package webhook.
//
// # The index
//
// A cluster of 100,000 nodes has some hundred kinds of nodes. The Index sorts them
// once, when they change, so that a question looks at kinds and never at nodes:
//
//	labelSet  nodes with equal labels, but for the values of naming keys
//	kind      nodes equal in all else: taints, room (allocatable), and view, which
//	          is what the kubelet and the reporter tell, and how fresh that is
//	group     nodes of one labelSet and one kind; it has its members sorted by name
//
// A question takes these steps (snapshot.coverage):
//
//  1. What the Pod selects becomes a set of labelSets, a bit for each (selected): a
//     column has, for each key, the labelSets that have each value.
//  2. Each view answers for the handler, each taintList for the tolerations, each
//     room for the requests: once, however many kinds share it.
//  3. The groups of the labelSets that are selected add up to a part of each kind,
//     and the parts to the Coverage (tally). If most are selected it is the groups of
//     the other labelSets that are looked at.
//  4. Groups are ranked by their first nodes' names, so that the first three names
//     of any number of groups are in the first three of them (cohort).
//
// Keys that tell one node from another (naming: kubernetes.io/hostname, and any
// other that is found to be by counting) make no labelSets. For them postings list
// the nodes by value, as byName does for names. A requirement on one is a set of
// labelSets too, but for a few nodes for which the opposite is so (flipped); their
// groups are divided.
//
// # Changes and time
//
// Events change the nodes under a lock. A snapshot is made of them, and never
// changed; questions take the last one without a lock. Of what there is for each
// node it shares with the one before all but the parts that have changed: pages of
// what goes by slot (a node's number), and chunks of lists in order (sorted).
//
// The state of a node changes by itself, too: a report gets too old, a node is no
// longer new. A snapshot knows between which times it is right, and deadlines is a
// heap of when to look at which node again. Should the clock go back over such a
// change, all nodes are looked at.
//
// Feed has snapshots made off the request path, 50 ms after a change, or more if
// making them takes long; no answer is more than a second behind. Without Feed (the
// commands, tests) a question makes a snapshot itself when there was a change, so
// that it sees what was said before it.
//
// The oracle of all this is walkingIndex in the tests, which looks at every node:
// TestIndexAgreesWithWalking.
package inventory
