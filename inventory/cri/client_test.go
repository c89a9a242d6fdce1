package cri

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/runtimegate/runtimegate/config"
)

// A fakeRuntime answers as a runtime does.
type fakeRuntime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	status *runtimeapi.StatusResponse
	err    error
}

func (f *fakeRuntime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "containerd", RuntimeVersion: "v2.4.2"}, f.err
}

func (f *fakeRuntime) Status(_ context.Context, r *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	if !r.GetVerbose() {
		return &runtimeapi.StatusResponse{}, nil
	}
	return f.status, f.err
}

// socketDir is a folder whose path is short enough for a socket.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cri")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serve runs a server with these services and returns its socket.
func serve(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	socket := filepath.Join(socketDir(t), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return socket
}

func serveRuntime(t *testing.T, f *fakeRuntime) string {
	t.Helper()
	return serve(t, func(s *grpc.Server) { runtimeapi.RegisterRuntimeServiceServer(s, f) })
}

// unary is a service with one method of a fixed answer.
func unary(service, method string, answer any) func(*grpc.Server) {
	return func(s *grpc.Server) {
		s.RegisterService(&grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
			MethodName: method,
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				if err := decode(&emptypb.Empty{}); err != nil {
					return nil, err
				}
				return answer, nil
			},
		}}}, nil)
	}
}

var (
	alphaOnly = unary("runtime.v1alpha2.RuntimeService", "Version", &runtimeapi.VersionResponse{RuntimeName: "containerd", RuntimeVersion: "1.5.18"})
	criOff    = unary("containerd.services.version.v1.Version", "Version", wrapperspb.String("v2.4.2"))
)

func TestAsk(t *testing.T) {
	const info = `{"containerd": {"defaultRuntimeName": "runc", "runtimes": {
		"runc": {"runtimeType": "io.containerd.runc.v2", "options": {"BinaryName": "/usr/bin/runc"}},
		"kata": {"runtimeType": "io.containerd.kata.v2"}}}, "enableCDI": true}`
	handlers := []config.Handler{
		{Name: "kata", RuntimeType: "io.containerd.kata.v2"},
		{Name: "runc", RuntimeType: "io.containerd.runc.v2", BinaryName: "/usr/bin/runc"},
	}
	features := &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true}
	for name, tt := range map[string]struct {
		status   *runtimeapi.StatusResponse
		features map[string]config.HandlerFeatures
	}{
		"containerd 2 lists its handlers": {
			&runtimeapi.StatusResponse{Info: map[string]string{"config": info}, RuntimeHandlers: []*runtimeapi.RuntimeHandler{
				{Name: "runc", Features: features}, {Name: ""}, {Name: "kata"},
			}},
			map[string]config.HandlerFeatures{"runc": {RecursiveReadOnlyMounts: true}},
		},
		"containerd 1 has them in its configuration only": {
			&runtimeapi.StatusResponse{Info: map[string]string{"config": info}},
			map[string]config.HandlerFeatures{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			socket := serveRuntime(t, &fakeRuntime{status: tt.status})
			got, err := Ask(t.Context(), socket)
			if err != nil {
				t.Fatal(err)
			}
			on := true
			want := config.CRI{Handlers: handlers, DefaultHandler: "runc", CDI: &on, Settings: map[string]map[string]string{"kata": {}, "runc": {}}}
			if diff := cmp.Diff(want, got.CRI); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.features, got.Features); diff != "" {
				t.Errorf("features (-want +got):\n%s", diff)
			}
			if got.RuntimeName != "containerd" || got.RuntimeVersion != "v2.4.2" {
				t.Errorf("runtime %s %s", got.RuntimeName, got.RuntimeVersion)
			}
			// Two starts can fall into one second.
			if info, err := os.Stat(socket); err != nil || !got.StartedAt.Equal(info.ModTime()) {
				t.Errorf("started at %s, want the socket's time: %+v, %v", got.StartedAt, info, err)
			}
		})
	}
}

// left makes a socket file that nobody listens on any more.
func left(t *testing.T) string {
	t.Helper()
	socket := filepath.Join(socketDir(t), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	listener.Close()
	return socket
}

func TestAskErrors(t *testing.T) {
	file := filepath.Join(socketDir(t), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		socket string
		reason Reason
		want   string
	}{
		"no socket":        {filepath.Join(socketDir(t), "s"), Unreachable, "no such file or directory: the runtime is down, or listens elsewhere"},
		"nobody listens":   {left(t), Unreachable, "connection refused: the runtime is down: start it"},
		"a file":           {file, Unreachable, "is no socket: name the runtime's socket"},
		"CRI off":          {serve(t, criOff), CRIDisabled, "serves no CRI, so that no Pod of this node can start"},
		"v1alpha2":         {serve(t, alphaOnly), V1Alpha2Only, "speaks only v1alpha2 of the CRI, and the kubelet needs v1 since Kubernetes 1.26"},
		"starting (1.7)":   {serveRuntime(t, &fakeRuntime{err: errors.New("server is not initialized yet")}), Unreachable, "server is not initialized yet"},
		"starting (2.4)":   {serveRuntime(t, &fakeRuntime{err: status.Error(codes.Unavailable, "server is not initialized yet")}), Unreachable, "server is not initialized yet"},
		"another error":    {serveRuntime(t, &fakeRuntime{err: errors.New("broken")}), "", ": broken"},
		"tells no handler": {serveRuntime(t, &fakeRuntime{status: &runtimeapi.StatusResponse{}}), "", "tells no handlers"},
		"a long path":      {longSocket(t), Unreachable, "longer than the 107 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Ask(t.Context(), tt.socket)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.socket) || ReasonOf(err) != tt.reason {
				t.Errorf("got %v, error (%s) %v", got, ReasonOf(err), err)
			}
		})
	}
}

// longSocket makes a socket with a path that can't be connected to.
func longSocket(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(socketDir(t), strings.Repeat("d", 110))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(left(t), filepath.Join(dir, "s")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "s")
}

func TestAskGivesUp(t *testing.T) {
	socket := filepath.Join(socketDir(t), "s")
	silent, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Ask(ctx, socket); ReasonOf(err) != Unreachable || !strings.Contains(err.Error(), "no answer within") {
		t.Errorf("error (%s) %v", ReasonOf(err), err)
	}
}

func TestAskVersion(t *testing.T) {
	for name, tt := range map[string]struct{ socket, want string }{
		"by the CRI":                  {serveRuntime(t, &fakeRuntime{}), "v2.4.2"},
		"with the CRI off":            {serve(t, criOff), "v2.4.2"},
		"by the CRI of a time before": {serve(t, alphaOnly), "1.5.18"},
	} {
		t.Run(name, func(t *testing.T) {
			runtime, version, err := AskVersion(t.Context(), tt.socket)
			if err != nil || runtime != "containerd" || version != tt.want {
				t.Errorf("got %s %s, error %v", runtime, version, err)
			}
		})
	}
	other := serve(t, unary("a.B", "C", nil))
	if _, _, err := AskVersion(t.Context(), other); ReasonOf(err) != CRIDisabled {
		t.Errorf("of a server of something else: error %v", err)
	}
}
