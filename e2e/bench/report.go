package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A Report is what a run has measured.
type Report struct {
	Machine     string
	Options     Options
	Comparisons []Comparison
	Admissions  []Admission
	// Scale is what questions about nodes take; nil if nobody has measured it.
	Scale Scale
	// Creates is how many Pods of each kind were created for Admissions.
	Creates int
}

// A Comparison is one Case, measured of all servers.
type Comparison struct {
	Case    Case
	Servers []Server
	Samples []Sample
	// Targets are the ratios of CPU time that runtimegate is to keep below, by the
	// server that it is compared with.
	Targets map[string]float64
}

// sample returns that of a server, nil if there is none.
func (c *Comparison) sample(name string) *Sample {
	for i := range c.Servers {
		if c.Servers[i].Name == name {
			return &c.Samples[i]
		}
	}
	return nil
}

// ratio is how much CPU time one server takes of another's.
func (c *Comparison) ratio(of *Sample, to string) string {
	other := c.sample(to)
	if other == nil || other.CPU == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", float64(of.CPU)/float64(other.CPU))
}

// Write writes the report as Markdown.
func (r *Report) Write(w io.Writer) error {
	p := &printer{w: w}
	p.line("Machine: %s. Medians of %d rounds of %s for each server, by turns; the client runs on the same machine.", r.Machine, r.Options.Rounds, r.Options.Duration)
	for i := range r.Comparisons {
		r.Comparisons[i].write(p)
	}
	if len(r.Scale) > 0 {
		r.Scale.write(p)
	}
	if len(r.Admissions) > 0 {
		p.line("")
		p.line("### Creating a Pod, seen by the client of the API server")
		p.line("")
		p.table("Pod with", "p50 without runtimegate", "p50 with it", "added", "p99 without", "p99 with it")
		for _, a := range r.Admissions {
			p.row(a.Pod, ms(a.Without), ms(a.With), ms(a.With-a.Without), ms(a.Without99), ms(a.With99))
		}
		p.line("")
		p.line("%d dry-run creates of each, one by one.", r.Creates)
	}
	return p.err
}

func (c *Comparison) write(p *printer) {
	p.line("")
	p.line("### %s", c.Case.Name)
	p.line("")
	p.table("server", "CPU µs a request", "to floor", "to PSA", "to Gatekeeper", "p50 µs", "p99 µs", "requests/s", "allocations", "KiB allocated", "RSS MiB")
	for i, s := range c.Servers {
		of := &c.Samples[i]
		p.row(s.Name, us(of.CPU), c.ratio(of, Floor), c.ratio(of, PodSecurity), c.ratio(of, Gatekeeper), us(of.P50), us(of.P99),
			fmt.Sprintf("%.0f", of.Rate), fmt.Sprintf("%.0f", of.Allocs), fmt.Sprintf("%.1f", of.Bytes/1024), fmt.Sprintf("%.0f", float64(of.RSS)/(1<<20)))
	}
	for _, peer := range []string{Floor, PodSecurity, Gatekeeper} {
		target, own, other := c.Targets[peer], c.sample(Runtimegate), c.sample(peer)
		if target == 0 || own == nil || other == nil {
			continue
		}
		met := "met"
		if float64(own.CPU) > target*float64(other.CPU) {
			met = "**missed**"
		}
		if peer == Floor {
			p.line("")
		}
		p.line("- at most %g of %s: %s (%s)", target, peer, met, c.ratio(own, peer))
	}
}

// A printer prints Markdown until the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) row(cells ...string) { p.line("| %s |", strings.Join(cells, " | ")) }

// table begins a table. All its columns but the first are figures.
func (p *printer) table(columns ...string) {
	p.row(columns...)
	p.line("|---|%s", strings.Repeat("---:|", len(columns)-1))
}

func us(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d)/float64(time.Microsecond)) }

func ms(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
