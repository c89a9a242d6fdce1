package inventory

import (
	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// Faults are what keeps a handler that a runtime has loaded, or takes for the default
// one, from starting a sandbox.
type Faults uint8

// The faults.
const (
	// ShimMissing, ShimNotExecutable: of its shim.
	ShimMissing Faults = 1 << iota
	ShimNotExecutable
	// BinaryMissing, BinaryNotExecutable: of the OCI runtime behind it.
	BinaryMissing
	BinaryNotExecutable
	// TypeMissing: containerd was told no runtime_type, so that it has nothing to
	// start, whatever else is there.
	TypeMissing
	// NotLoaded: it is the default handler, and not loaded.
	NotLoaded
)

// faultsOf are those of a handler as a report has it.
func faultsOf(runtime string, h *v1alpha1.Handler) Faults {
	if h.RuntimeType == "" && runtime == config.Containerd && isMissing(h.Shim) {
		return TypeMissing
	}
	return fault(h.Shim, ShimMissing, ShimNotExecutable) | fault(h.Binary, BinaryMissing, BinaryNotExecutable)
}

func fault(p *v1alpha1.Program, missing, notExecutable Faults) Faults {
	switch {
	case !isMissing(p):
		return 0
	case p.State == v1alpha1.ProgramNotExecutable:
		return notExecutable
	}
	return missing
}
