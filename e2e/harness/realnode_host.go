package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// CheckRealNode says why this host can't have a RealNode; nil: it can.
func CheckRealNode() error {
	if os.Geteuid() != 0 {
		return errors.New("not root")
	}
	try := exec.Command("true")
	try.SysProcAttr = ownNamespaces()
	if err := try.Run(); err != nil {
		return fmt.Errorf("no mount and process namespaces: %w", err)
	}
	if lacking := lackingControllers(); lacking != nil {
		return fmt.Errorf("no cgroup controllers %s for what is below %s", strings.Join(lacking, ", "), cgroupRoot)
	}
	probe := newCgroup()
	if err := errors.Join(probe.make(), probe.remove()); err != nil {
		return fmt.Errorf("no cgroups: %w", err)
	}
	return nil
}
