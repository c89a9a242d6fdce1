// Package kubeletevents reads from the Events of a Pod that does not start what
// about its runtime handler keeps it. It knows the wordings of the components and
// nothing of any cluster.
package kubeletevents
