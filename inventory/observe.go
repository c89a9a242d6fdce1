package inventory

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
	"github.com/runtimegate/runtimegate/inventory/cri"
)

// An Observer looks at one node: at its running runtime and at the files for
// the next start. It writes nothing.
type Observer struct {
	// Host is the node's file system, and Root the folder where it is.
	Host *hostfs.FS
	Root string
	// Endpoint is the CRI socket; empty to find it.
	Endpoint string
	// Config is the runtime's main configuration file; empty for the one that the
	// command line of its process names, or to find it.
	Config string
	// SearchPath is the runtime's PATH; empty for that of its process, or the
	// usual one where that can't be seen.
	SearchPath string
}

// Find says which CRI socket Observe asks; taken is the one it asked before, if
// any.
func (o *Observer) Find(taken string) (*cri.Endpoint, error) {
	if o.Endpoint != "" {
		return cri.At(o.Host, o.Endpoint)
	}
	return cri.Find(o.Host, taken)
}

// Observe asks the runtime and reads its files. An error means that the runtime
// did not answer; of files that can't be read, the Observation tells.
func (o *Observer) Observe(ctx context.Context, endpoint *cri.Endpoint) (*Observation, error) {
	socket, err := cri.Dialable(o.Host, o.Root, endpoint.Socket)
	if err != nil {
		return nil, err
	}
	answer, err := cri.Ask(ctx, socket)
	if err != nil {
		return nil, cri.OnHost(err, socket, endpoint.Socket)
	}
	seen := &Observation{Endpoint: endpoint.String(), Loaded: answer.Status, StartedAt: answer.StartedAt, At: time.Now()}
	rt, err := config.ParseRuntime(answer.RuntimeName + "://" + answer.RuntimeVersion)
	if err != nil {
		seen.NextUnknown = fmt.Sprintf("its rules are not known: %v", err)
		return seen, nil
	}
	daemon := cri.ProcessOf(socket, o.Root)
	opt := config.Options{Runtime: rt, SearchPath: cmp.Or(o.SearchPath, daemon.SearchPath), WorkDir: daemon.WorkDir}
	l, err := o.location(endpoint, rt.Name, cmp.Or(o.Config, daemon.Config))
	if err == nil {
		opt.Path, opt.PathOptional, opt.Binary = l.Path, !l.Told, l.Program(o.Host)
		seen.Next, err = o.load(opt)
	}
	if err != nil {
		seen.NextUnknown = err.Error()
	} else {
		fillIn(seen.Loaded, &seen.Next.Daemon.CRI)
	}
	prober := config.NewProber(o.Host, opt)
	seen.Programs = map[string]config.Runnability{}
	for _, h := range seen.Loaded.Handlers {
		seen.Programs[h.Name] = prober.Probe(h)
	}
	return seen, nil
}

// location is where the runtime on that socket has its configuration: in the file
// that is named, if one is.
func (o *Observer) location(endpoint *cri.Endpoint, runtime, named string) (config.Location, error) {
	if named != "" {
		l, _ := config.LocationOf(named, runtime)
		// Whoever names a file means that the runtime reads it.
		l.Told = runtime == config.Containerd
		return l, nil
	}
	for _, l := range config.Locate(o.Host, runtime) {
		if l.Socket == endpoint.Socket {
			return l, nil
		}
	}
	var paths []string
	for _, l := range config.Locations {
		if l.Socket != endpoint.Socket || l.Runtime != runtime {
			continue
		}
		// Without the file this runtime starts with its defaults; but where even
		// its folder is out of sight, that says nothing.
		if !l.Told && o.Host.IsDir("/etc") {
			return l, nil
		}
		paths = append(paths, l.Path)
	}
	if paths == nil {
		return config.Location{}, fmt.Errorf("no configuration of a %s that listens on %s is known: name it with --config", runtime, endpoint.Socket)
	}
	return config.Location{}, fmt.Errorf("%s is not there: name the configuration with --config", strings.Join(paths, ", "))
}

// load reads the files. What this process may not read says nothing of the
// runtime, which runs as root.
func (o *Observer) load(opt config.Options) (*config.Result, error) {
	r, err := config.Load(o.Host, opt)
	if err != nil {
		return nil, err
	}
	for _, f := range r.Files {
		if strings.HasSuffix(f.Error, "permission denied") {
			return nil, fmt.Errorf("%s", f.Error)
		}
	}
	if config.NewProber(o.Host, opt).Blind() {
		if name := outOfSight(o.Host, opt, r.Files); name != "" {
			return nil, fmt.Errorf("%s is not in the folders of the node that can be seen here: mount its folder below --host-root, or the whole node", name)
		}
	}
	return r, nil
}

// fillIn takes from the files what CRI-O before 1.33 does not tell of the
// handlers that it has loaded.
func fillIn(loaded *config.Status, next *config.CRI) {
	if loaded.RuntimeName != config.CRIO {
		return
	}
	for i, h := range loaded.Handlers {
		if h.RuntimeType != "" || h.RuntimePath != "" {
			continue
		}
		if written, ok := next.Handler(h.Name); ok {
			loaded.Handlers[i] = written
		}
	}
}
