// Package bench measures admission webhooks side by side: runtimegate, peers, and a
// server that does nothing but read and answer. The peers are programs of module
// peers; what is measured of a server is what its process uses.
package bench
