package promtool

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

const root = "../.."

var promql = parser.NewParser(parser.Options{})

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// alerts are the rules of the chart.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse([]byte(read(t, "charts/runtimegate/rules/alerts.yaml")), false, model.UTF8Validation, promql, slog.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var rules []rulefmt.Rule
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

// series are those that runtimegate exposes of a small cluster, those that were
// recorded of a real API server and a real serve, and what Prometheus adds.
func series(t *testing.T) (all []labels.Labels) {
	t.Helper()
	exposed := read(t, "webhook/testdata/metrics.golden") + read(t, "e2e/promtool/recorded.prom") + `up{job="runtimegate"} 1`
	for line := range strings.Lines(exposed) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		metric, err := promql.ParseMetric(line[:strings.LastIndex(line, " ")])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, metric)
	}
	return all
}

// expectSeries checks that each selector of an expression finds a series, and
// each label that it groups by is there.
func expectSeries(t *testing.T, expression string, all []labels.Labels) {
	t.Helper()
	parsed, err := promql.ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", expression, err)
		return
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			if !slices.ContainsFunc(all, func(one labels.Labels) bool { return matches(one, node.LabelMatchers) }) {
				t.Errorf("%s: nothing exposes %s", expression, node)
			}
		case *parser.AggregateExpr:
			for _, selector := range parser.ExtractSelectors(node.Expr) {
				if missing := missingLabels(node, selector, all); len(missing) > 0 {
					t.Errorf("%s: %v have no labels %q", expression, selector, missing)
				}
			}
		}
		return nil
	})
}

func matches(one labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.Get(m.Name)) })
}

// missingLabels are those that an aggregation keeps ("by") and no series of the
// selector has.
func missingLabels(by *parser.AggregateExpr, selector []*labels.Matcher, all []labels.Labels) (missing []string) {
	if by.Without {
		return nil
	}
	for _, name := range by.Grouping {
		if !slices.ContainsFunc(all, func(one labels.Labels) bool { return matches(one, selector) && one.Has(name) }) {
			missing = append(missing, name)
		}
	}
	return missing
}

func TestAlertsAskForWhatThereIs(t *testing.T) {
	all := series(t)
	for _, rule := range alerts(t) {
		expectSeries(t, rule.Expr, all)
	}
}

// Every alert has a page to read on, which names it, and the docs list it.
func TestAlertsHaveRunbooks(t *testing.T) {
	const pages = "https://github.com/runtimegate/runtimegate/blob/main/"
	docs := read(t, "docs/metrics.md")
	var names []string
	for _, rule := range alerts(t) {
		names = append(names, rule.Alert)
		page, ok := strings.CutPrefix(rule.Annotations["runbook_url"], pages+"docs/runbooks/")
		if !ok {
			t.Errorf("%s: runbook_url %q: want a page of %sdocs/runbooks/", rule.Alert, rule.Annotations["runbook_url"], pages)
			continue
		}
		if title, _, _ := strings.Cut(read(t, "docs/runbooks/"+page), "\n"); !strings.Contains(title, rule.Alert) {
			t.Errorf("%s: the title of %s does not name it", rule.Alert, page)
		}
		row := fmt.Sprintf("| [`%s`](runbooks/%s) | %s | for %s ", rule.Alert, page, rule.Labels["severity"], spell(rule.For))
		if !strings.Contains(docs, row) {
			t.Errorf("docs/metrics.md lacks %q", row)
		}
		for _, annotation := range []string{"summary", "description"} {
			if rule.Annotations[annotation] == "" {
				t.Errorf("%s has no %s", rule.Alert, annotation)
			}
		}
	}
	for _, named := range regexp.MustCompile("Runtimegate[A-Z][A-Za-z]+").FindAllString(docs, -1) {
		if !slices.Contains(names, named) {
			t.Errorf("docs/metrics.md has the alert %s, which is not there", named)
		}
	}
}

// spell writes a duration as the docs do.
func spell(d model.Duration) string {
	text := d.String()
	if text == "1h" {
		return "an hour"
	}
	return strings.TrimSuffix(text, "m") + " minutes"
}

// promtool's tests let each alert fire, and not fire, by series that there are.
func TestAlertsAreTested(t *testing.T) {
	var file struct {
		Tests []struct {
			Series []struct {
				Series string
			} `yaml:"input_series"`
			Rules []struct {
				Name   string `yaml:"alertname"`
				Alerts []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "e2e/promtool/alerts.test.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	exposed := map[string]bool{}
	for _, one := range series(t) {
		exposed[shape(one)] = true
	}
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, input := range test.Series {
			if metric, err := promql.ParseMetric(input.Series); err != nil || !exposed[shape(metric)] {
				t.Errorf("nothing exposes %s (%v)", input.Series, err)
			}
		}
		for _, rule := range test.Rules {
			if len(rule.Alerts) > 0 {
				fires[rule.Name] = true
			} else {
				rests[rule.Name] = true
			}
		}
	}
	for _, rule := range alerts(t) {
		if !fires[rule.Alert] || !rests[rule.Alert] {
			t.Errorf("%s: fires in a test: %t, does not fire in one: %t", rule.Alert, fires[rule.Alert], rests[rule.Alert])
		}
	}
}

// shape is the name of a metric with its labels, without those that Prometheus
// adds.
func shape(metric labels.Labels) string {
	names := []string{metric.Get(labels.MetricName)}
	metric.Range(func(l labels.Label) {
		if !slices.Contains([]string{labels.MetricName, "job", "instance", "namespace", "pod"}, l.Name) {
			names = append(names, l.Name)
		}
	})
	return strings.Join(names, " ")
}

// Replicas count the same nodes: a sum would count them once for each replica.
func TestNobodyAddsUpReplicas(t *testing.T) {
	expressions := dashboard(t)
	for _, rule := range alerts(t) {
		expressions = append(expressions, rule.Expr)
	}
	for _, expression := range expressions {
		parsed, err := promql.ParseExpr(expression)
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(parsed, func(node parser.Node, path []parser.Node) error {
			selector, ok := node.(*parser.VectorSelector)
			if !ok || !slices.Contains([]string{"runtimegate_nodes", "runtimegate_handler_nodes", "runtimegate_findings"}, selector.Name) {
				return nil
			}
			for _, above := range slices.Backward(path) {
				if aggregate, ok := above.(*parser.AggregateExpr); ok {
					if aggregate.Op != parser.MAX {
						t.Errorf("%s: the replicas' %s are not joined by max", expression, selector.Name)
					}
					return nil
				}
			}
			t.Errorf("%s: the replicas' %s are not joined", expression, selector.Name)
			return nil
		})
	}
}

// dashboard returns the expressions of the dashboard.
func dashboard(t *testing.T) (expressions []string) {
	t.Helper()
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "charts/runtimegate/dashboards/runtimegate.json")), &board); err != nil {
		t.Fatal(err)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, panel := range board.Panels {
		if ids[panel.ID] {
			t.Errorf("two panels have the id %d", panel.ID)
		}
		ids[panel.ID] = true
		at := panel.GridPos
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q: no room at %d, %d (%s)", panel.Title, x, y, other)
				}
				cells[[2]int{x, y}] = panel.Title
			}
		}
		for _, target := range panel.Targets {
			// What Grafana puts there, at least.
			expressions = append(expressions, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	return expressions
}

func TestDashboardAsksForWhatThereIs(t *testing.T) {
	expressions, all := dashboard(t), series(t)
	if len(expressions) == 0 {
		t.Fatal("no expressions")
	}
	for _, expression := range expressions {
		expectSeries(t, expression, all)
	}
}
