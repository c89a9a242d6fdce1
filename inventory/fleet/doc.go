// Package fleet says, node by node and in groups of like ones, what is known of the
// nodes of a cluster and of the handlers on them. It asks an inventory.Index about
// each node by itself, so that it never says other than the verdicts do; it knows
// neither clients nor clocks.
package fleet
