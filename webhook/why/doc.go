// Package why puts together why a Pod, a workload, a RuntimeClass or a node does
// not do what it should: the way from class to handler to nodes, what each group of
// nodes has, the webhook's verdict, what the object's Events mean, and what mends
// it, in order. It knows neither clients nor clocks.
package why
