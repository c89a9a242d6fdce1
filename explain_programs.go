package main

import (
	"fmt"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

// probe looks for the programs behind the loaded handlers and notes in v what it
// finds. It returns a remark when it can't.
func (o *explainOptions) probe(host *hostfs.FS, t *target, opt config.Options, r *config.Result, v *explanation) string {
	switch {
	case o.programs == "no":
		return ""
	case o.programs == "auto" && o.root == "/" && !t.known:
		return fmt.Sprintf("shims and OCI runtimes were not looked for: no runtime of this machine is known to read %s (--programs yes looks for them here, --root DIR in the root of another)", t.path)
	}
	prober := config.NewProber(host, opt)
	if prober.Blind() {
		return "shims and OCI runtimes were not looked for: this root holds no programs"
	}
	cri := loadedCRI(r)
	for _, h := range cri.Handlers {
		run := prober.Probe(h)
		file, line := t.path, 0
		for _, e := range v.Handlers {
			if e.Name != h.Name {
				continue
			}
			e.Runnability = run
			if n := len(e.Origins); n > 0 {
				file, line = e.Origins[n-1].File, e.Origins[n-1].Line
			}
		}
		for _, f := range run.Findings(h, h.Name == cri.DefaultHandler) {
			f.File, f.Line = file, line
			v.Findings = append(v.Findings, f)
		}
	}
	return ""
}
