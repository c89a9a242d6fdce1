package webhook

import (
	"github.com/prometheus/client_golang/prometheus"
)

// decisions counts verdicts. An object of which several conditions hold counts
// once for each; one of which none holds counts with the condition "OK".
var decisions = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "runtimegate_decisions_total",
	Help: "Admission decisions by resource, condition (OK when none holds) and action.",
}, []string{"resource", "condition", "action"})

// count returns a function that counts verdicts on a resource.
func count(resource string) func(Verdict) {
	return func(verdict Verdict) {
		if len(verdict.Findings) == 0 {
			decisions.WithLabelValues(resource, "OK", Allow.String()).Inc()
		}
		for i := range verdict.Findings {
			f := &verdict.Findings[i]
			decisions.WithLabelValues(resource, string(f.Condition), f.Action.String()).Inc()
		}
	}
}
