package harness

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// startTimeout bounds the start of the control plane: seconds, but for a
// machine that has its hands full.
const startTimeout = 3 * time.Minute

// A Cluster is a control plane and kwok, which plays the part of its nodes.
type Cluster struct {
	Dir       string // where all its files lie
	Scope     Scope  // which Pods the next gate is asked about
	bin       string // where the programs lie
	processes []*Process
	plane     *Process
}

// StartCluster starts a cluster with the programs of bin and its files in dir.
func StartCluster(ctx context.Context, bin, dir string) (*Cluster, error) {
	c := &Cluster{Dir: dir, bin: bin}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// StartAPI is StartCluster without scheduler, controllers and kwok: what nobody
// writes stays as it is.
func StartAPI(ctx context.Context, bin, dir string) (*Cluster, error) {
	c := &Cluster{Dir: dir, bin: bin}
	if err := c.startPlane(ctx, "api"); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// Etcd is the URL at which the cluster's etcd takes clients.
func (c *Cluster) Etcd() (string, error) {
	url, err := os.ReadFile(filepath.Join(c.Dir, "etcd.url"))
	return string(url), err
}

func (c *Cluster) startPlane(ctx context.Context, args ...string) error {
	ready, stdout, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	cmd := exec.Command(c.program("cluster"), append([]string{"serve", c.Dir}, args...)...)
	cmd.Stdout = stdout
	c.plane, err = c.Background("cluster", cmd)
	stdout.Close() // the cluster has its own
	if err != nil {
		return err
	}
	return c.waitLine(ctx, ready)
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.startPlane(ctx); err != nil {
		return err
	}
	// Without leases the node controller takes each node for dead after 50 s, for
	// a moment, until kwok says that it is not.
	_, err := c.Background("kwok", exec.Command(c.program("kwok"), "--node-lease-duration-seconds=40",
		"--config="+filepath.Join(c.Dir, "stages.yaml"), "--kubeconfig="+c.Kubeconfig(),
		"--manage-all-nodes=false", "--manage-nodes-with-annotation-selector="+kwokAnnotation+"="+kwokFake))
	return err
}

// waitLine waits for the line that says that the control plane serves. Its end
// closes the pipe.
func (c *Cluster) waitLine(ctx context.Context, ready *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { ready.Close() })
	defer stop()
	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("wait for the control plane: %w; its last words:\n%s", err, c.plane.Tail())
	}
	return nil
}

// Background starts a process that Stop ends. What cmd has of an environment is
// added to Env.
func (c *Cluster) Background(name string, cmd *exec.Cmd) (*Process, error) {
	cmd.Env = append(c.Env(), cmd.Env...)
	p, err := startProcess(name, filepath.Join(c.Dir, name+".log"), cmd)
	if err == nil {
		c.processes = append(c.processes, p)
	}
	return p, err
}

// Stop ends all processes, the last one first. What they still wanted to write
// is of no use: they are killed.
func (c *Cluster) Stop() {
	for len(c.processes) > 0 {
		last := len(c.processes) - 1
		c.processes[last].Kill()
		c.processes = c.processes[:last]
	}
}

// ControlPlane is the process of etcd, the API server, the scheduler and the
// controllers.
func (c *Cluster) ControlPlane() *Process { return c.plane }

// AuditLog is the file of the API server's audit log.
func (c *Cluster) AuditLog() string { return filepath.Join(c.Dir, "audit.log") }

// Kubeconfig is the file that makes one the cluster's admin.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.Dir, "admin.kubeconfig") }

// Env is the environment of the programs that use the cluster: the programs
// built here come first, nothing is read from the user's own home, and each
// process can be reached, as by "kill -9 $RUNTIMEGATE_PID".
func (c *Cluster) Env() []string {
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "KUBE") && name != "HOME" && name != "PATH" {
			env = append(env, v)
		}
	}
	for _, p := range c.processes {
		env = append(env, fmt.Sprintf("%s_PID=%d", strings.ToUpper(p.Name), p.Pid()))
	}
	return append(env, "HOME="+c.Dir, "KUBECONFIG="+c.Kubeconfig(), "PATH="+c.bin+":"+os.Getenv("PATH"))
}

// program is the path of one built here, or else the bare name.
func (c *Cluster) program(name string) string {
	path := filepath.Join(c.bin, name)
	if _, err := os.Stat(path); err != nil {
		return name
	}
	return path
}
