package config

import (
	"fmt"
	"strings"
)

// Findings turns what Probe said of a handler into findings: of a program that
// is not there or can't be executed. They are errors for the default handler,
// which every Pod without a RuntimeClass needs. File and Line are the caller's
// to fill in.
func (r Runnability) Findings(h Handler, isDefault bool) []Finding {
	var out []Finding
	if r.Shim != nil {
		what := "shim"
		if f := r.Shim.finding(h, what, CodeShimNotFound, CodeShimNotExecutable); f != nil {
			f.Fix = r.Shim.fix(what, "correct runtime_type or runtime_path")
			out = append(out, *f)
		}
	}
	if r.Binary != nil {
		what := "OCI runtime"
		if f := r.Binary.finding(h, what, CodeBinaryNotFound, CodeBinaryNotExecutable); f != nil {
			f.Fix = r.Binary.fix(what, "correct the path that names it")
			out = append(out, *f)
		}
	}
	for i := range out {
		if isDefault {
			out[i].Severity = Error
			out[i].Message += "; it is the default handler: every Pod without a RuntimeClass fails on this node"
		}
	}
	return out
}

func (p *Program) finding(h Handler, what, notFound, notExecutable string) *Finding {
	f := &Finding{Code: notFound, Severity: Warning, Handler: h.Name}
	switch p.State {
	case NotFound:
		f.Message = fmt.Sprintf("handler %q: %s %s is not there: %s", h.Name, what, p.Path, p.Reason)
	case NotExecutable:
		f.Code = notExecutable
		f.Message = fmt.Sprintf("handler %q: %s %s can't be executed: %s", h.Name, what, p.Path, p.Reason)
	default:
		return nil
	}
	if len(p.Near) > 0 {
		verb := "is"
		if len(p.Near) > 1 {
			verb = "are"
		}
		f.Message += fmt.Sprintf("; %s %s there", strings.Join(p.Near, ", "), verb)
	}
	return f
}

func (p *Program) fix(what, correct string) string {
	switch {
	case p.State == NotExecutable:
		return fmt.Sprintf("chmod 0755 %s, if it is the program", p.Path)
	case len(p.Near) > 0:
		return fmt.Sprintf("%s, if %s is what was meant; else install %s", correct, p.Near[0], p.Path)
	}
	return fmt.Sprintf("install the %s %s on the node, or %s", what, p.Path, correct)
}
