package harness

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/runtimegate/runtimegate/inventory/cri"
)

// ContainerdTimeout bounds the start and the stop of a containerd: a fraction of
// a second, but for a machine that has its hands full.
const ContainerdTimeout = time.Minute

//go:embed containerd.toml
var containerdConfig string

// A Containerd is a real containerd. Its folder is the root of its host for all
// that matters to runtimegate: the configuration is at etc/containerd, the CRI
// socket at run/containerd, the programs that it starts at usr/bin. It touches
// nothing outside.
type Containerd struct {
	*Process
	// Dir is the host's root.
	Dir string
	// Minor is its version, as "2.4".
	Minor string
	// Env is added to its environment.
	Env     []string
	program string
}

// NewContainerd lays out the host of a containerd of bin in dir, whose path must
// be short: it is part of the sockets'. Start starts it.
func NewContainerd(bin, minor, dir string) (*Containerd, error) {
	c := &Containerd{Dir: dir, Minor: minor, program: filepath.Join(bin, "containerd-"+minor)}
	var config strings.Builder
	tmpl, err := template.New("containerd.toml").Parse(containerdConfig)
	if err == nil {
		err = tmpl.Execute(&config, map[string]any{
			"Dir": dir, "Old": strings.HasPrefix(minor, "1."), "UID": os.Getuid(), "GID": os.Getgid(),
			"Platform": runtime.GOOS + "/" + runtime.GOARCH,
		})
	}
	if err != nil {
		return nil, err
	}
	// Nothing runs what stands for the shim and runc here.
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "runc"} {
		if err := c.Write("usr/bin/"+name, "", 0o755); err != nil {
			return nil, err
		}
	}
	return c, c.Write("etc/containerd/config.toml", config.String(), 0o644)
}

// Write writes a file of the host.
func (c *Containerd) Write(name, content string, mode os.FileMode) error {
	path := filepath.Join(c.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), mode)
}

// Remove removes a file of the host.
func (c *Containerd) Remove(name string) error { return os.Remove(filepath.Join(c.Dir, name)) }

// Launch starts containerd and does not wait for it.
func (c *Containerd) Launch() (err error) {
	if signal.Ignored(syscall.SIGHUP) {
		// As under nohup. A program that it starts would ignore it, too, but not
		// if the signal is caught here.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	cmd := exec.Command(c.program, "--config", filepath.Join(c.Dir, "etc/containerd/config.toml"))
	cmd.Dir = c.Dir
	cmd.Env = append([]string{"PATH=" + filepath.Join(c.Dir, "usr/bin"), "HOME=" + c.Dir, "TMPDIR=" + os.TempDir()}, c.Env...)
	c.Process, err = startProcess("containerd "+c.Minor, filepath.Join(c.Dir, "containerd.log"), cmd)
	return err
}

// Start starts containerd and waits until it answers.
func (c *Containerd) Start(ctx context.Context) error {
	if err := c.Launch(); err != nil {
		return err
	}
	return c.WaitFor(ctx, c.Name+" to answer", ContainerdTimeout, func(ctx context.Context) error {
		_, _, err := cri.AskVersion(ctx, c.Socket())
		if cri.ReasonOf(err) == cri.CRIDisabled {
			// It answers; to find that out is the caller's affair.
			return nil
		}
		return err
	})
}

// Restart ends containerd in order and starts it again.
func (c *Containerd) Restart(ctx context.Context) error {
	if _, err := c.Terminate(ContainerdTimeout); err != nil {
		return err
	}
	return c.Start(ctx)
}

// Signal sends a signal that is to end containerd, and waits for the end.
func (c *Containerd) Signal(signal syscall.Signal) error {
	if err := c.cmd.Process.Signal(signal); err != nil {
		return err
	}
	select {
	case <-c.Exited:
		return nil
	case <-time.After(ContainerdTimeout):
		return fmt.Errorf("%s did not end within %s of %s", c.Name, ContainerdTimeout, signal)
	}
}

// Stop ends containerd, if it runs, at once.
func (c *Containerd) Stop() {
	if c.Process != nil {
		c.Kill()
	}
}

// Socket is the CRI socket.
func (c *Containerd) Socket() string { return filepath.Join(c.Dir, "run/containerd/containerd.sock") }
