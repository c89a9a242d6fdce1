// Package build makes the programs that the tests and the demo run, and says
// how far it is: from an empty build cache the control plane takes minutes.
package build

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed flags.env
var flags string

// A target is one program to build.
type target struct {
	name    string
	module  string   // folder of its module, from the repository's root
	pkg     string   // from the module's folder
	links   []string // other names that the program goes by
	sources []string // globs from the root; given, it is built only when they change
	about   string   // what it is and how long it takes, where that is long
	sets    []string // built only for those who name one of these sets; none: always
	env     []string // beside flags.env
	flags   []string // beside those of every build
}

// The sets of programs that only some tests need.
const (
	// Containerd are the real containerds.
	Containerd = "containerd"
	// Node is what a real node runs. It needs a C compiler: CheckC.
	Node = "node"
)

var targets = []target{
	{
		name: "cluster", module: "e2e", pkg: "./cmd/cluster", links: []string{"kubectl", "helm", "kwok"},
		// Asking go whether 2,800 packages are up to date takes seconds.
		sources: []string{"e2e/go.mod", "e2e/go.sum", "e2e/cmd/cluster/*.go", "e2e/build/*"},
		about: "etcd, kube-apiserver, kube-scheduler, kube-controller-manager, kubectl, helm and kwok\n" +
			"       8 to 12 minutes on 2 cores when the Go build cache is empty; kept until e2e/go.mod changes",
	},
	{name: "runtimegate", module: ".", pkg: "."},
	{name: "demo", module: "e2e", pkg: "./cmd/demo"},
	containerd("1.7", "github.com/containerd/containerd/cmd/containerd", Containerd),
	containerd("2.4", "github.com/containerd/containerd/v2/cmd/containerd", Containerd, Node),
	{
		name: "containerd-shim-runc-v2", module: "e2e/containerd/2.4", sets: []string{Node},
		pkg:     "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
		sources: []string{"e2e/containerd/2.4/go.*", "e2e/build/flags.env"},
	},
	{
		name: "runc", module: "e2e/containerd/runc", sets: []string{Node},
		pkg:     "github.com/opencontainers/runc",
		sources: []string{"e2e/containerd/runc/go.*", "e2e/build/*"},
		// It has C in it. Without the tag seccomp it needs no library; static, it
		// runs on a node that has none.
		env:   []string{"CGO_ENABLED=1"},
		flags: []string{"-tags", "netgo,osusergo", "-ldflags", "-s -w -linkmode external -extldflags -static"},
	},
	{
		name: "kubelet", module: "e2e", pkg: "./cmd/kubelet", sets: []string{Node},
		sources: []string{"e2e/go.mod", "e2e/go.sum", "e2e/cmd/kubelet/*.go", "e2e/build/*"},
		about:   "the kubelet of the Kubernetes that e2e/go.mod pins",
	},
	{name: "pause", module: "e2e", pkg: "./cmd/pause", sets: []string{Node}},
}

// containerd is the target of the containerd that the module of that minor
// version pins.
func containerd(minor, pkg string, sets ...string) target {
	module := "e2e/containerd/" + minor
	return target{
		name: "containerd-" + minor, module: module, pkg: pkg, sets: sets,
		sources: []string{module + "/go.*", "e2e/build/flags.env"},
		about: "the containerd that " + module + "/go.mod pins\n" +
			"       2 to 4 minutes on 2 cores when the Go build cache is empty; kept until that file changes",
	}
}

// All builds what is not up to date, with the sets named, and returns the folder
// of the programs. Builds of other processes are waited for.
func All(ctx context.Context, out io.Writer, sets ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(root, ".cache", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(root, ".cache", "lock"))
	if err != nil {
		return "", fmt.Errorf("lock .cache: %w", err)
	}
	defer unlock()
	for _, t := range targets {
		asked := func(set string) bool { return slices.Contains(sets, set) }
		if t.sets != nil && !slices.ContainsFunc(t.sets, asked) {
			continue
		}
		if err := t.build(ctx, root, bin, out); err != nil {
			return "", fmt.Errorf("build %s: %w", t.name, err)
		}
	}
	return bin, nil
}

func (t target) build(ctx context.Context, root, bin string, out io.Writer) error {
	key, err := t.key(root)
	if err != nil {
		return err
	}
	program := filepath.Join(bin, t.name)
	if key != "" && isBuilt(program, key) {
		return nil
	}
	if t.about != "" {
		fmt.Fprintf(out, "build: %s: %s\n", t.name, t.about)
	}
	started := time.Now()
	module := filepath.Join(root, t.module)
	args := []string{"build", "-v", "-o", program, "-ldflags", "-s -w"}
	if t.name == "cluster" || t.name == "kubelet" {
		version, err := kubernetesVersion(ctx, module)
		if err != nil {
			return err
		}
		args[len(args)-1] += versionFlags(version)
	}
	if t.name == "runtimegate" { // as "make build" has it, whose program this replaces
		if version := gitVersion(ctx, root); version != "" {
			args[len(args)-1] += " -X main.version=" + version
		}
	}
	args = append(append(args, t.flags...), t.pkg)
	if err := compile(ctx, module, args, append(environ(), t.env...), t.name, out); err != nil {
		return err
	}
	if took := time.Since(started); took > time.Second {
		fmt.Fprintf(out, "build: %s is ready after %s\n", t.name, took.Round(time.Second))
	}
	return t.finish(program, key)
}

// finish makes the program's links and remembers of what it was built.
func (t target) finish(program, key string) error {
	for _, link := range t.links {
		path := filepath.Join(filepath.Dir(program), link)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		if err := os.Symlink(t.name, path); err != nil {
			return err
		}
	}
	if key == "" {
		return nil
	}
	return os.WriteFile(program+".key", []byte(key), 0o644)
}

// Root finds the repository's root from a folder inside it.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "e2e", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the repository: no e2e/go.mod above it", start)
		}
	}
}

// environ is the environment of every go command.
func environ() []string {
	env := os.Environ()
	for line := range strings.Lines(flags) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			env = append(env, line)
		}
	}
	return env
}

// lock waits for and takes the lock of a file. It ends with the process at the
// latest.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}
