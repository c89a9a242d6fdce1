package soak

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// A link is the reporters' way to the API server. It counts what passes, and can
// be cut: then connections break, and new ones are refused.
type link struct {
	address  string // where the reporters connect
	target   string
	sent     atomic.Int64 // bytes to the API server, as on the wire
	received atomic.Int64

	mu       sync.Mutex
	listener net.Listener // nil while it is cut
	conns    map[net.Conn]bool
}

func newLink(target string) (*link, error) {
	l := &link{address: "127.0.0.1:0", target: target, conns: map[net.Conn]bool{}}
	return l, l.mend()
}

// mend opens the link, at the address that it had before.
func (l *link) mend() error {
	listener, err := net.Listen("tcp4", l.address)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.address, l.listener = listener.Addr().String(), listener
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // it is cut
			}
			go l.pass(conn)
		}
	}()
	return nil
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener != nil {
		l.listener.Close()
	}
	l.listener = nil
	for conn := range l.conns {
		conn.Close()
	}
}

// pass serves one connection.
func (l *link) pass(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp4", l.target)
	if err != nil {
		return
	}
	defer far.Close()
	if !l.add(near) {
		return
	}
	defer l.remove(near)
	go func() {
		_, _ = io.Copy(counted{near, &l.received}, far)
		near.Close()
	}()
	_, _ = io.Copy(counted{far, &l.sent}, near)
}

// add keeps a connection for cut to break, unless the link has been cut since.
func (l *link) add(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listener == nil {
		return false
	}
	l.conns[conn] = true
	return true
}

func (l *link) remove(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}

// counted counts what is written.
type counted struct {
	io.Writer
	n *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n.Add(int64(n))
	return n, err
}
