package cri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Reason says why a runtime did not tell what it has loaded.
type Reason string

// The reasons. Other failures have none.
const (
	// Unreachable: nobody answers on the socket, or not yet.
	Unreachable Reason = "Unreachable"
	// CRIDisabled: something answers, but serves no CRI: no Pod of the node
	// can start.
	CRIDisabled Reason = "CRIDisabled"
	// V1Alpha2Only: the runtime speaks only a CRI that kubelets left with 1.26.
	V1Alpha2Only Reason = "V1Alpha2Only"
)

// An Error says why a runtime did not tell what it has loaded. It never means
// that nothing is loaded.
type Error struct {
	Reason Reason
	// Socket that was asked.
	Socket string
	// Err is the cause.
	Err error
}

// OnHost is an error about the path by which this process reached a socket, with the
// path that the host itself has. What a report tells is read there.
func OnHost(err error, reached, socket string) error {
	var e *Error
	if reached == socket || !errors.As(err, &e) {
		return err
	}
	on := *e
	on.Socket = socket
	if on.Err != nil && strings.Contains(on.Err.Error(), reached) {
		on.Err = errors.New(strings.ReplaceAll(on.Err.Error(), reached, socket))
	}
	return &on
}

// ReasonOf is the reason of an error of this package, "" of any other.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

var (
	errNoSocket = errors.New("is no socket")
	errNoGRPC   = errors.New("answers, but speaks no gRPC")
	errHangsUp  = errors.New("takes a connection and closes it")
)

func (e *Error) Unwrap() error { return e.Err }

// Error says what is the matter and what to do.
func (e *Error) Error() string {
	switch e.Reason {
	case CRIDisabled:
		return fmt.Sprintf("the runtime at %s serves no CRI, so that no Pod of this node can start: its CRI plugin is disabled or has failed; "+
			`see disabled_plugins in its configuration, "runtimegate explain", and its log`, e.Socket)
	case V1Alpha2Only:
		return fmt.Sprintf("the runtime at %s speaks only v1alpha2 of the CRI, and the kubelet needs v1 since Kubernetes 1.26: upgrade it (containerd 1.6 or later)", e.Socket)
	}
	return fmt.Sprintf("CRI socket %s: %v%s", e.Socket, e.Err, e.advice())
}

func (e *Error) advice() string {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return ": the runtime is down, or listens elsewhere"
	case errors.Is(e.Err, errNoSocket), errors.Is(e.Err, errNoGRPC):
		return ": name the runtime's socket"
	case errors.Is(e.Err, errHangsUp):
		return ": the runtime is on its way down, or this is not its socket"
	case errors.Is(e.Err, fs.ErrPermission):
		return ": run as root"
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return ": the runtime is down: start it (systemctl status containerd, crio, k3s, …)"
	}
	return ""
}

// unreachable is an error of a socket that can't be connected to.
func unreachable(socket string, err error) *Error {
	return &Error{Reason: Unreachable, Socket: socket, Err: bare(err)}
}

// bare takes off what repeats the operation and the path.
func bare(err error) error {
	var path *fs.PathError
	var op *net.OpError
	var call *os.SyscallError
	for {
		switch {
		case errors.As(err, &path):
			err = path.Err
		case errors.As(err, &op):
			err = op.Err
		case errors.As(err, &call):
			err = call.Err
		default:
			return err
		}
	}
}

// explain finds out what a failed call of the CRI's version 1 means.
func (c *client) explain(err error) *Error {
	said := status.Convert(err)
	switch {
	case said.Code() == codes.Unimplemented:
		_, alpha := c.alphaVersion()
		switch status.Code(alpha) {
		case codes.OK, codes.Unknown: // Unknown is one that is not initialized yet
			return &Error{Reason: V1Alpha2Only, Socket: c.socket, Err: err}
		}
		return &Error{Reason: CRIDisabled, Socket: c.socket, Err: err}
	case c.lastDial() != nil:
		return unreachable(c.socket, c.lastDial())
	case errors.Is(c.ctx.Err(), context.DeadlineExceeded), said.Code() == codes.DeadlineExceeded:
		return unreachable(c.socket, fmt.Errorf("no answer within %s", timeout))
	case c.ctx.Err() != nil:
		return &Error{Socket: c.socket, Err: c.ctx.Err()}
	case said.Code() == codes.Unavailable && strings.Contains(said.Message(), "server preface"):
		// Something accepts connections and then says what is no HTTP/2, or nothing.
		return unreachable(c.socket, errNoGRPC)
	case said.Code() == codes.Unavailable && (strings.Contains(said.Message(), "client preface") || strings.Contains(said.Message(), "broken pipe")):
		return unreachable(c.socket, errHangsUp)
	// "server is not initialized yet" is Unknown in containerd 1.x, Unavailable
	// in 2.x (instrumented_service.go).
	case said.Code() == codes.Unavailable, strings.Contains(said.Message(), "not initialized yet"):
		return unreachable(c.socket, errors.New(said.Message()))
	}
	return &Error{Socket: c.socket, Err: errors.New(said.Message())}
}
