package cri

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/runtimegate/runtimegate/config"
)

const (
	// timeout bounds all calls of one question. The runtime answers in
	// milliseconds; Status may wait for the plugins of its network.
	timeout = 10 * time.Second
	// maxAnswer is the kubelet's own bound (k8s.io/cri-client, maxMsgSize).
	maxAnswer = 16 << 20
	// maxPath is the kernel's (sun_path in unix(7)).
	maxPath = 107
)

// An Answer is what a running runtime says of itself.
type Answer struct {
	*config.Status
	// StartedAt is when the runtime began to listen, as precise as its file system
	// is: two starts can fall into one second. Zero when that can't be known.
	StartedAt time.Time
}

// Ask asks the runtime that listens on a socket for all it has loaded. The
// error is an *Error, unless the runtime's answer makes no sense.
func Ask(ctx context.Context, socket string) (*Answer, error) {
	c, err := connect(ctx, socket)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	version, err := c.runtime.Version(c.ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return nil, c.explain(err)
	}
	// Without verbose containerd before 2.0 tells no handlers, and no runtime
	// tells its default.
	status, err := c.runtime.Status(c.ctx, &runtimeapi.StatusRequest{Verbose: true})
	if err != nil {
		return nil, c.explain(err)
	}
	read, err := config.NewStatus(answerOf(version, status))
	if err != nil {
		return nil, &Error{Socket: socket, Err: err}
	}
	return &Answer{Status: read, StartedAt: c.startedAt}, nil
}

// answerOf puts the CRI's messages into the terms of package config.
func answerOf(version *runtimeapi.VersionResponse, status *runtimeapi.StatusResponse) config.StatusAnswer {
	a := config.StatusAnswer{
		RuntimeName:    version.GetRuntimeName(),
		RuntimeVersion: version.GetRuntimeVersion(),
		Config:         status.GetInfo()["config"],
	}
	for _, h := range status.GetRuntimeHandlers() {
		handler := config.StatusHandler{Name: h.GetName()}
		if f := h.GetFeatures(); f != nil {
			handler.Features = &config.HandlerFeatures{
				RecursiveReadOnlyMounts: f.GetRecursiveReadOnlyMounts(),
				UserNamespaces:          f.GetUserNamespaces(),
			}
		}
		a.Handlers = append(a.Handlers, handler)
	}
	return a
}

// AskVersion asks a runtime only for its name and version, as config.ParseRuntime
// reads them. Also a containerd whose CRI plugin is off, and one that is too
// old for the kubelet, answer that.
func AskVersion(ctx context.Context, socket string) (name, version string, err error) {
	c, err := connect(ctx, socket)
	if err != nil {
		return "", "", err
	}
	defer c.Close()
	answer, err := c.runtime.Version(c.ctx, &runtimeapi.VersionRequest{})
	if err == nil {
		return answer.GetRuntimeName(), answer.GetRuntimeVersion(), nil
	}
	failure := c.explain(err)
	switch failure.Reason {
	case V1Alpha2Only:
		if answer, err := c.alphaVersion(); err == nil {
			return answer.GetRuntimeName(), answer.GetRuntimeVersion(), nil
		}
	case CRIDisabled:
		// containerd's own service: the first field of its VersionResponse
		// (api/services/version/v1) is the version, as in a StringValue.
		own := &wrapperspb.StringValue{}
		if c.conn.Invoke(c.ctx, "/containerd.services.version.v1.Version/Version", &emptypb.Empty{}, own) == nil && own.GetValue() != "" {
			return config.Containerd, own.GetValue(), nil
		}
	}
	return "", "", failure
}

// A client is one connection to a runtime, for one question.
type client struct {
	socket    string
	startedAt time.Time
	ctx       context.Context // ends with the question's time
	cancel    context.CancelFunc
	conn      *grpc.ClientConn
	runtime   runtimeapi.RuntimeServiceClient

	mu      sync.Mutex
	dialErr error // of the last attempt to connect
}

var _ io.Closer = (*client)(nil)

// connect prepares the connection; the first call makes it.
func connect(ctx context.Context, socket string) (*client, error) {
	c := &client{socket: socket}
	info, err := os.Stat(socket)
	if err != nil {
		return nil, unreachable(socket, err)
	}
	if info.Mode()&os.ModeSocket == 0 {
		return nil, unreachable(socket, errNoSocket)
	}
	if len(socket) > maxPath {
		return nil, unreachable(socket, fmt.Errorf("the path is longer than the %d bytes that one of a socket may have", maxPath))
	}
	// containerd and CRI-O remove the socket of the time before and make a new
	// one, so that its age is theirs. That needs no look at their processes,
	// which a container does not see.
	c.startedAt = info.ModTime()
	c.conn, err = grpc.NewClient("passthrough:///"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()), // a unix socket
		grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(c.dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy())
	if err != nil {
		return nil, &Error{Socket: socket, Err: err}
	}
	c.runtime = runtimeapi.NewRuntimeServiceClient(c.conn)
	c.ctx, c.cancel = context.WithTimeout(ctx, timeout)
	return c, nil
}

// dial connects and keeps the error, of which grpc passes on only the text.
func (c *client) dial(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialErr = err
	return conn, err
}

func (c *client) lastDial() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialErr
}

// Close ends the connection.
func (c *client) Close() error {
	c.cancel()
	return c.conn.Close()
}

// alphaVersion asks by the name that the CRI had up to containerd 1.5. The
// messages are the same.
func (c *client) alphaVersion() (*runtimeapi.VersionResponse, error) {
	answer := &runtimeapi.VersionResponse{}
	return answer, c.conn.Invoke(c.ctx, "/runtime.v1alpha2.RuntimeService/Version", &runtimeapi.VersionRequest{}, answer)
}
