package cri

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessOf looks at the process that listens on a socket. It tells nothing
// where this process may not look (another PID namespace, fewer capabilities),
// and of one whose root is not the folder root: its paths would be others.
func ProcessOf(socket, root string) Process {
	pid := listener(socket)
	if pid <= 0 {
		return Process{}
	}
	proc := fmt.Sprintf("/proc/%d/", pid)
	its, err := os.Stat(proc + "root")
	if err != nil {
		return Process{}
	}
	ours, err := os.Stat(root)
	if err != nil || !os.SameFile(its, ours) {
		return Process{}
	}
	var p Process
	p.WorkDir, _ = os.Readlink(proc + "cwd")
	p.WorkDir = below(root, p.WorkDir)
	environment, _ := os.ReadFile(proc + "environ")
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			p.SearchPath = value
		}
	}
	if line, err := os.ReadFile(proc + "cmdline"); err == nil {
		p.Config = configOf(strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), p.WorkDir)
	}
	return p
}

// listener is the id of the process that called listen(2) on a socket; 0 if it
// is not known, as of one in another PID namespace.
func listener(socket string) (pid int) {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if credentials, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(credentials.Pid)
		}
	})
	return pid
}
