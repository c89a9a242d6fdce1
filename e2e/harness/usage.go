package harness

import (
	"fmt"
	"os"

	"github.com/prometheus/procfs"
)

// A Usage is what a process has used of the machine, in bytes and seconds.
type Usage struct {
	RSS, Anon, File uint64 // now: all, what it has allocated, and pages of its program
	Peak            uint64 // the most that RSS was
	CPU             float64
}

// Usage asks the kernel about the process alone, not about its children.
func (p *Process) Usage() (Usage, error) { return UsageOf(p.Pid()) }

// UsageOf is Usage for the process of that id.
func UsageOf(pid int) (Usage, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return Usage{}, fmt.Errorf("find process %d: %w", pid, err)
	}
	status, err := proc.NewStatus()
	if err != nil {
		return Usage{}, fmt.Errorf("read the status of process %d: %w", pid, err)
	}
	stat, err := proc.Stat()
	if err != nil {
		return Usage{}, fmt.Errorf("read the stat of process %d: %w", pid, err)
	}
	return Usage{RSS: status.VmRSS, Anon: status.RssAnon, File: status.RssFile, Peak: status.VmHWM, CPU: stat.CPUTime()}, nil
}

// Busy is for how many seconds of CPU time the whole machine has worked since its
// start.
func Busy() (float64, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, err
	}
	stat, err := fs.Stat()
	if err != nil {
		return 0, err
	}
	c := stat.CPUTotal
	return c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal, nil
}

// ForgetPeak lets the process's Peak begin anew (proc(5), clear_refs).
func (p *Process) ForgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.Pid()), []byte("5"), 0)
}
