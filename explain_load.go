package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

// importsOf are the files, with empty lists in place of absent ones.
func importsOf(r *config.Result) []*config.File {
	out := []*config.File{}
	for _, f := range r.Files {
		file := *f
		file.Imports = slices.Clone(f.Imports)
		for i := range file.Imports {
			file.Imports[i].Matched = append([]string{}, file.Imports[i].Matched...)
		}
		out = append(out, &file)
	}
	return out
}

// handlersOf are the handlers of all files with what became of them.
func handlersOf(r *config.Result) []*explainedHandler {
	out := []*explainedHandler{}
	for _, h := range r.Handlers {
		e := &explainedHandler{
			Name: h.Name, Fate: string(h.Fate), Reason: reasonOf(h),
			Origins:     append([]config.Origin{}, h.Origins...),
			RuntimeType: h.RuntimeType, RuntimePath: h.RuntimePath, BinaryName: h.BinaryName, Runnability: h.Runnability,
		}
		if r.Daemon.State == config.CRIOff {
			e.unserved(r.Daemon.Reason)
		}
		out = append(out, e)
	}
	return out
}

// unserved takes back that a handler would be loaded: the daemon serves no CRI.
func (h *explainedHandler) unserved(reason string) {
	counts := func(fate config.Fate) bool { return fate == config.Loaded || fate == config.Merged }
	if !counts(config.Fate(h.Fate)) {
		return
	}
	h.Fate, h.Reason = string(config.Lost), "the runtime would not serve the CRI: "+reason
	for i := range h.Origins {
		if o := &h.Origins[i]; counts(o.Fate) {
			o.Fate, o.Why = config.Lost, h.Reason
		}
	}
}

// reasonOf says why a handler is not loaded. Why one that is loaded is not so
// from all its places, its origins say.
func reasonOf(h config.HandlerReport) string {
	if h.Fate == config.Loaded || h.Fate == config.Merged {
		return ""
	}
	var reasons []string
	seen := map[string]bool{}
	for _, o := range h.Origins {
		if o.Why == "" || seen[o.Why] {
			continue
		}
		seen[o.Why] = true
		reasons = append(reasons, o.Why)
	}
	return strings.Join(reasons, "; ")
}

// mayProbe tells whether the programs of this root are those of the daemon
// that t is for, and if not, a remark on it.
func (o *explainOptions) mayProbe(host *hostfs.FS, t *target, opt config.Options) (bool, string) {
	switch {
	case o.programs == "no":
		return false, ""
	case o.programs == "auto" && o.root == "/" && !t.known:
		return false, fmt.Sprintf("shims and OCI runtimes were not looked for: no runtime of this machine is known to read %s (--programs yes looks for them here, --root DIR in the root of another)", t.Path)
	case config.NewProber(host, opt).Blind():
		return false, "shims and OCI runtimes were not looked for: this root holds no programs"
	}
	return true, ""
}
