// Package soak lets many reporters run at once against a real API server, with a
// manager watching. The reporters and what they write are real; only what each
// sees on its node is made up. On the way all of them lose the API server for a
// while.
package soak
