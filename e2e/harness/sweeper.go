package harness

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// sweep removes cgroups, which their processes keep until these are gone, and
// then a folder, when its input ends.
const sweep = `
cat >/dev/null
dir=$1
shift
for try in $(seq 100); do
  find "$@" -depth -type d -exec rmdir {} + 2>/dev/null
  [ -z "$(ls -d "$@" 2>/dev/null)" ] && break
  sleep 0.1
done
rm -rf --one-file-system "$dir"
`

// A sweeper is a process that removes what the kernel does not take away by
// itself when this process is killed.
type sweeper struct {
	cmd   *exec.Cmd
	alive io.Closer // only this process holds it open
}

// startSweeper starts one for a folder and the folders of a cgroup. In a session
// of its own it survives what a terminal sends to this process.
func startSweeper(dir string, g cgroup) (*sweeper, error) {
	cmd := exec.Command("sh", append([]string{"-c", sweep, "sweep", dir}, g.folders()...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the sweeper: %w", err)
	}
	return &sweeper{cmd: cmd, alive: alive}, nil
}

// finish lets it do its work.
func (s *sweeper) finish() error {
	if s == nil {
		return nil
	}
	s.alive.Close()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	return nil
}
