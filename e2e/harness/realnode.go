package harness

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"text/template"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/runtimegate/runtimegate/e2e/image"
	"github.com/runtimegate/runtimegate/inventory/cri"
)

// RealNodeName is the name of a RealNode, for which cluster has a user.
const RealNodeName = "node-a"

// realNodeFiles are the files of its root.
//
//go:embed realnode
var realNodeFiles embed.FS

// realNodePrograms are what it runs, by the names that they have there.
var realNodePrograms = map[string]string{
	"containerd": "containerd-2.4", "containerd-shim-runc-v2": "containerd-shim-runc-v2",
	"runc": "runc", "kubelet": "kubelet", "mount": "pause", "umount": "pause",
}

// A RealNode is a node of real components: kubelet, containerd, its shim, runc.
// As in a container it has a root, mounts and processes of its own: it writes
// nothing outside of its folder but cgroups, these below one of its own, and
// no process outlives its first. It shares the host's network.
type RealNode struct {
	// Dir is the folder that is its root.
	Dir        string
	cluster    *Cluster
	cgroup     cgroup
	sweeper    *sweeper
	images     http.Server
	init       *Process
	containerd *Process
	kubelet    *Process
}

// StartRealNode joins a RealNode to the cluster and waits until it is ready.
// CheckRealNode tells beforehand whether this host lets it.
func (c *Cluster) StartRealNode(ctx context.Context) (*RealNode, error) {
	n := &RealNode{Dir: filepath.Join(c.Dir, "node"), cluster: c, cgroup: newCgroup()}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}

func (n *RealNode) start(ctx context.Context) (err error) {
	if n.sweeper, err = startSweeper(n.Dir, n.cgroup); err != nil {
		return err
	}
	registry, err := n.serveImages()
	if err != nil {
		return err
	}
	if err := n.layOut(registry); err != nil {
		return fmt.Errorf("lay out %s: %w", n.Dir, err)
	}
	if err := n.cgroup.make(); err != nil {
		return err
	}
	init := exec.Command(n.cluster.program("pause"), n.Dir)
	init.SysProcAttr = ownNamespaces()
	// Like the others it takes its parent for dead, and kills itself; but that
	// signal the first process of a namespace can't send to itself.
	if n.init, err = startProcess("pause", n.log("pause"), init); err != nil {
		return err
	}
	err = n.init.WaitFor(ctx, "the node's root", startTimeout, func(context.Context) error {
		if said := n.init.Tail(); said != "ready" {
			return fmt.Errorf("pause said %q", said)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := n.startContainerd(ctx); err != nil {
		return err
	}
	n.kubelet, err = n.run("kubelet", "--config=/var/lib/kubelet/config.yaml", "--kubeconfig=/etc/kubernetes/kubelet.conf",
		"--hostname-override="+RealNodeName)
	if err != nil {
		return err
	}
	return n.kubelet.WaitFor(ctx, "the node to be ready", startTimeout, func(ctx context.Context) error {
		_, err := n.cluster.Must(ctx, "", "kubectl", "wait", "--for=condition=Ready", "--timeout=5s", "node/"+RealNodeName)
		return err
	})
}

// ownNamespaces has a process begin mounts and processes of its own. What it
// mounts is seen nowhere else: with this flag Go makes the copied mounts private.
func ownNamespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Cloneflags: syscall.CLONE_NEWPID}
}

// RealNodeImage is runtimegate's image, as a RealNode pulls it.
const RealNodeImage = "images.test/runtimegate"

// RealNodeTag is the tag of RealNodeImage.
const RealNodeTag = "e2e"

// serveImages has the node's images, images.test/pause:1 and RealNodeImage, to be
// pulled from the address that it returns.
func (n *RealNode) serveImages() (address string, err error) {
	images := &registry{}
	for _, each := range []struct{ program, tag, user string }{{"pause", "1", ""}, {"runtimegate", RealNodeTag, image.User}} {
		content, err := os.ReadFile(n.cluster.program(each.program))
		if err != nil {
			return "", err
		}
		program := image.Program{
			Name: each.program, Content: content, User: each.user,
			Platform: v1.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH},
		}
		made, err := program.Image()
		if err != nil {
			return "", err
		}
		if err := images.add(each.program, each.tag, made); err != nil {
			return "", fmt.Errorf("serve the image of %s: %w", each.program, err)
		}
	}
	n.images.Handler = images
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go n.images.Serve(listener)
	return listener.Addr().String(), nil
}

// layOut makes the files of the node's root.
func (n *RealNode) layOut(registry string) error {
	values := map[string]any{"Registry": registry, "Cgroup": n.cgroup, "Platform": runtime.GOOS + "/" + runtime.GOARCH}
	err := fs.WalkDir(realNodeFiles, "realnode", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel("realnode", path)
		if err != nil {
			return err
		}
		file, err := template.ParseFS(realNodeFiles, path)
		if err != nil {
			return err
		}
		var content strings.Builder
		if err := file.Execute(&content, values); err != nil {
			return err
		}
		return n.write(name, []byte(content.String()), 0o644)
	})
	if err != nil {
		return err
	}
	if err := n.copy("etc/kubernetes/kubelet.conf", filepath.Join(n.cluster.Dir, "node.kubeconfig"), 0o600); err != nil {
		return err
	}
	for name, program := range realNodePrograms {
		if err := n.copy("usr/bin/"+name, n.cluster.program(program), 0o755); err != nil {
			return err
		}
	}
	for _, folder := range []string{"proc", "sys", "dev", "tmp", "var/log", "etc/containerd/conf.d"} {
		if err := os.MkdirAll(filepath.Join(n.Dir, folder), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (n *RealNode) write(name string, content []byte, mode fs.FileMode) error {
	path := filepath.Join(n.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, mode)
}

func (n *RealNode) copy(name, from string, mode fs.FileMode) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return n.write(name, content, mode)
}

// run starts one of the node's programs in it.
func (n *RealNode) run(name string, args ...string) (*Process, error) {
	cmd := exec.Command("/usr/bin/"+name, args...)
	cmd.Env = []string{"PATH=/usr/bin"}
	return startInside(n.init, name, n.log(name), cmd)
}

func (n *RealNode) log(name string) string { return filepath.Join(n.cluster.Dir, name+".log") }

func (n *RealNode) startContainerd(ctx context.Context) (err error) {
	if n.containerd, err = n.run("containerd"); err != nil {
		return err
	}
	return n.containerd.WaitFor(ctx, "containerd to answer", ContainerdTimeout, func(ctx context.Context) error {
		_, _, err := cri.AskVersion(ctx, n.Root()+"/run/containerd/containerd.sock")
		return err
	})
}

// RestartContainerd does what "systemctl restart containerd" does: the Pods stay.
func (n *RealNode) RestartContainerd(ctx context.Context) error {
	if err := n.StopContainerd(); err != nil {
		return err
	}
	return n.startContainerd(ctx)
}

// StopContainerd does what "systemctl stop containerd" does: the Pods stay.
func (n *RealNode) StopContainerd() error {
	_, err := n.containerd.Terminate(ContainerdTimeout)
	return err
}

// restartContainerd is a command of sessions that the node does itself: it has
// no systemd.
const restartContainerd = "systemctl restart containerd"

// Shell is Cluster.Shell for sessions on the node.
func (n *RealNode) Shell(ctx context.Context, dir, line string) (output string, exit int, err error) {
	if line == restartContainerd {
		return "", 0, n.RestartContainerd(ctx)
	}
	return n.cluster.Shell(ctx, dir, line)
}

// Root is the path by which other processes see the node's root as it does.
func (n *RealNode) Root() string { return fmt.Sprintf("/proc/%d/root", n.init.Pid()) }

// Logs are the last words of the node's daemons.
func (n *RealNode) Logs() string {
	return fmt.Sprintf("containerd's last words:\n%s\nthe kubelet's last words:\n%s", n.containerd.Tail(), n.kubelet.Tail())
}

// Stop ends the node and removes its root. With its first process the kernel
// ends all others in it, also when this process is killed; the sweeper then does
// the rest.
func (n *RealNode) Stop() error {
	for _, p := range []*Process{n.init, n.containerd, n.kubelet} {
		if p != nil {
			p.Kill()
		}
	}
	return errors.Join(n.images.Close(), n.cgroup.remove(), n.sweeper.finish())
}
