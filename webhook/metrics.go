package webhook

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	nodev1 "k8s.io/api/node/v1"

	"github.com/runtimegate/runtimegate/inventory"
)

// decisions counts verdicts. An object of which several conditions hold counts
// once for each; one of which none holds counts with the condition "OK".
var decisions = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "runtimegate_decisions_total",
	Help: "Admission decisions by resource, condition (OK when none holds) and action.",
}, []string{"resource", "condition", "action"})

// count counts a verdict on a resource.
func count(resource string, verdict Verdict) {
	if len(verdict.Findings) == 0 {
		decisions.WithLabelValues(resource, "OK", Allow.String()).Inc()
	}
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		decisions.WithLabelValues(resource, string(f.Condition), f.Action.String()).Inc()
	}
}

// seconds are the times of decisions. Most take some microseconds; what asks the
// API server takes milliseconds, and lookupTimeout or surveyTime at most.
var seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "runtimegate_decision_duration_seconds",
	Help:    "Time from a request that has been read to its answer, by resource.",
	Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
}, []string{"resource"})

// newBuildInfo tells the version of runtimegate, and of the Go that has compiled
// it.
func newBuildInfo(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "runtimegate_build_info",
		Help:        "1, with the version of runtimegate and of Go as labels.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}

// registerMetrics registers all metrics of the webhook.
func registerMetrics(registry prometheus.Registerer, version string, nodes *inventoryCollector) error {
	for _, collector := range []prometheus.Collector{decisions, seconds, newBuildInfo(version), nodes} {
		if err := registry.Register(collector); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// defaultHandler stands for the default handler of each node; no RuntimeClass can
// have that name.
const defaultHandler = "(default)"

var (
	nodesDesc = prometheus.NewDesc("runtimegate_nodes",
		"Nodes by what the knowledge of their handlers rests on.", []string{"freshness"}, nil)
	handlerNodesDesc = prometheus.NewDesc("runtimegate_handler_nodes",
		"Nodes by the state of a handler, for the default handler and those that RuntimeClasses name.", []string{"handler", "state"}, nil)
	findingsDesc = prometheus.NewDesc("runtimegate_findings",
		"Nodes that report a finding, by its code (Other when runtimegate has none of that name) and severity.", []string{"code", "severity"}, nil)
)

// An inventoryCollector counts the nodes when it is asked. No label comes from a
// node or a reporter, so that neither can make any number of series.
type inventoryCollector struct {
	summary func(handlers []string, now time.Time) inventory.Summary
	classes func(context.Context) []nodev1.RuntimeClass
	synced  func() bool
	now     func() time.Time
}

var _ prometheus.Collector = &inventoryCollector{}

// Describe implements prometheus.Collector.
func (c *inventoryCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- nodesDesc
	descs <- handlerNodesDesc
	descs <- findingsDesc
}

// Collect implements prometheus.Collector. Before the nodes are known it tells
// nothing: zeros would look like a cluster without nodes.
func (c *inventoryCollector) Collect(metrics chan<- prometheus.Metric) {
	if !c.synced() {
		return
	}
	send := func(desc *prometheus.Desc, n int, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	summary := c.summary(c.handlers(), c.now())
	for _, freshness := range inventory.Freshnesses {
		send(nodesDesc, summary.Nodes[freshness], string(freshness))
	}
	for handler, states := range summary.Handlers {
		if handler == "" {
			handler = defaultHandler
		}
		for _, state := range inventory.HandlerStates {
			send(handlerNodesDesc, states[state], handler, string(state))
		}
	}
	for kind, n := range summary.Findings {
		send(findingsDesc, n, kind.Code, string(kind.Severity))
	}
}

// handlers are those that RuntimeClasses name, and the default one.
func (c *inventoryCollector) handlers() []string {
	handlers := []string{""}
	for _, class := range c.classes(context.Background()) {
		handlers = append(handlers, class.Handler)
	}
	slices.Sort(handlers)
	return slices.Compact(handlers)
}
