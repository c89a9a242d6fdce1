// Package audit tells, by Events on the objects concerned, what has gone wrong on
// the nodes since something was admitted.
package audit
