// Package certs gives the webhook its serving certificate, made here or by
// others, and tells the API server which authority to trust for it. What is to
// be done when, so that every API server trusts what every replica serves, is
// decided by a plain function (plan.go); the Keeper does it.
package certs
