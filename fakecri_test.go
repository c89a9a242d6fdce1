package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A fakeCRI answers what a real runtime once answered.
type fakeCRI struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	version runtimeapi.VersionResponse
	status  runtimeapi.StatusResponse
}

func (f *fakeCRI) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &f.version, nil
}

func (f *fakeCRI) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	return &f.status, nil
}

// readFakeCRI reads a file of config/testdata/status.
func readFakeCRI(file string) (*fakeCRI, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var parts struct{ Version, Status json.RawMessage }
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, err
	}
	f := &fakeCRI{}
	if err := protojson.Unmarshal(parts.Version, &f.version); err != nil {
		return nil, err
	}
	return f, protojson.Unmarshal(parts.Status, &f.status)
}

// scriptCRI is "cri SOCKET FILE": from there on the runtime of that file
// answers on the socket. Without FILE it serves no CRI.
func scriptCRI(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: cri SOCKET [FILE]")
	}
	socket := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(socket), 0o755))
	listener, err := net.Listen("unix", socket)
	ts.Check(err)
	server := grpc.NewServer()
	if len(args) > 1 {
		runtime, err := readFakeCRI(ts.MkAbs(args[1]))
		ts.Check(err)
		runtimeapi.RegisterRuntimeServiceServer(server, runtime)
	}
	go server.Serve(listener)
	ts.Defer(server.Stop)
}
