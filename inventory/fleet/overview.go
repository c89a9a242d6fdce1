package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/runtimegate/runtimegate/inventory"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
)

// Pending is the state of a handler that is not loaded, and that the next start of
// the runtime would load. Verdicts know it as Lacking.
const Pending inventory.HandlerState = "Pending"

// loadedStates are those of a handler that is loaded.
var loadedStates = []inventory.HandlerState{inventory.Loaded, inventory.Expiring, inventory.Broken}

// States are those of the cells of an Overview, the gravest first.
var States = []inventory.HandlerState{
	inventory.Lost, inventory.Broken, inventory.Expiring, Pending, inventory.Lacking, inventory.Unknown, inventory.Loaded,
}

// An Overview says what is true of all nodes together. Its JSON is the contract of
// "runtimegate status -o json".
type Overview struct {
	At    time.Time `json:"at"`
	Nodes Counts    `json:"nodes"`
	// Classes are the RuntimeClasses, with the nodes that they pick.
	Classes []Class `json:"classes"`
	// Runtimes are the runtimes and versions, the most frequent first.
	Runtimes []Runtime `json:"runtimes"`
	// Drift is what the reports found wrong or about to go wrong.
	Drift []Drift `json:"drift"`
	// Defaults are the default handlers: what breaks one stops all Pods that name no
	// class on these nodes.
	Defaults []Default `json:"defaults"`
	// Untold are nodes of which no report counts.
	Untold []Untold `json:"untold"`
	// Down are nodes whose runtime does not answer: what is said of them is what was
	// before.
	Down Names `json:"down"`
	// Unlooked are nodes that have told, where nobody looked whether the programs of
	// all that is loaded are there.
	Unlooked Names `json:"unlooked"`
	// Cordoned are nodes on which no new Pod is put.
	Cordoned Names `json:"cordoned"`
	// Handlers are those of the columns of Rows.
	Handlers []string `json:"handlers"`
	// Rows are groups of nodes that are alike in all of this.
	Rows []Row `json:"rows"`
}

// Counts are numbers of nodes, by what is known of them.
type Counts struct {
	Total   int `json:"total"`
	Fresh   int `json:"fresh"`
	Kubelet int `json:"kubelet"`
	Stale   int `json:"stale"`
	Young   int `json:"young"`
	Silent  int `json:"silent"`
}

// A Class is a RuntimeClass and the nodes that its nodeSelector picks.
type Class struct {
	Name    string `json:"name"`
	Handler string `json:"handler"`
	// Nodes is the number of nodes that it picks, and States how many of them have
	// its handler in which state.
	Nodes  int                            `json:"nodes"`
	States map[inventory.HandlerState]int `json:"states"`
	// Loaded is how many of them have it loaded, whatever else is true of it there.
	Loaded int `json:"loaded"`
	// Conditions are those of the webhook's verdict.
	Conditions []string `json:"conditions"`
}

// A Runtime is a runtime of one version.
type Runtime struct {
	Runtime string `json:"runtime"`
	Names
}

// Names are nodes.
type Names struct {
	Count int      `json:"count"`
	Nodes []string `json:"nodes"`
}

func (n *Names) add(name string) {
	n.Count++
	n.Nodes = append(n.Nodes, name)
}

// Sample are the number of nodes and some names.
func (n *Names) Sample() inventory.Nodes {
	return inventory.Nodes{Count: n.Count, Sample: n.Nodes[:min(len(n.Nodes), inventory.SampleSize)]}
}

// More is the number of nodes that Sample does not name.
func (n *Names) More() int { return n.Count - min(n.Count, inventory.SampleSize) }

// A Drift is a finding of some nodes, about one handler or none.
type Drift struct {
	Code     string            `json:"code"`
	Severity v1alpha1.Severity `json:"severity"`
	Handler  string            `json:"handler"`
	// Message and File are those of the first node.
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Line    int32  `json:"line,omitempty"`
	Names
}

// A Default is a default handler.
type Default struct {
	// Handler is empty for nodes that do not tell theirs.
	Handler string `json:"handler"`
	Names
	// Broken and Expiring are the nodes where it is.
	Broken   int `json:"broken"`
	Expiring int `json:"expiring"`
	// Pods is the number of Pods that use it there; absent if they were not counted.
	Pods *int `json:"pods,omitempty"`
}

// An Untold is nodes of which no report counts.
type Untold struct {
	Freshness inventory.Freshness `json:"freshness"`
	Names
}

// A Row is nodes that are alike.
type Row struct {
	Runtime   string              `json:"runtime"`
	Default   string              `json:"default"`
	Freshness inventory.Freshness `json:"freshness"`
	// States are those of the Overview's Handlers, in their order.
	States []inventory.HandlerState `json:"states"`
	Names
}

// gravest is the place in States of the gravest state.
func (r *Row) gravest() int {
	at := len(States)
	for _, state := range r.States {
		at = min(at, slices.Index(States, state))
	}
	return at
}

// Overview sums all nodes up, for the RuntimeClasses of the cluster.
func (f *Fleet) Overview(classes []nodev1.RuntimeClass) *Overview {
	o := &overviewer{
		Overview: &Overview{
			At: f.now.UTC(), Classes: []Class{}, Runtimes: []Runtime{}, Drift: []Drift{}, Defaults: []Default{},
			Untold: []Untold{}, Down: Names{Nodes: []string{}}, Unlooked: Names{Nodes: []string{}}, Cordoned: Names{Nodes: []string{}}, Handlers: []string{}, Rows: []Row{},
		},
		runtimes: map[string]*Runtime{}, drift: map[string]*Drift{}, defaults: map[string]*Default{}, rows: map[string]*Row{},
	}
	o.Handlers = append(o.Handlers, f.handlers(classes)...)
	var selectors []labels.Selector
	for i := range classes {
		class := Class{Name: classes[i].Name, Handler: classes[i].Handler, States: map[inventory.HandlerState]int{}, Conditions: []string{}}
		selector := labels.Everything()
		if s := classes[i].Scheduling; s != nil {
			selector = labels.SelectorFromSet(s.NodeSelector)
		}
		o.Classes, selectors = append(o.Classes, class), append(selectors, selector)
	}
	for _, n := range f.Nodes {
		states := n.overviewStates(o.Handlers)
		o.count(n)
		o.row(n, states)
		for i := range o.Classes {
			if class := &o.Classes[i]; selectors[i].Matches(labels.Set(n.Object.Labels)) {
				class.Nodes++
				class.States[states[class.Handler]]++
				if slices.Contains(loadedStates, states[class.Handler]) {
					class.Loaded++
				}
			}
		}
	}
	o.sort()
	return o.Overview
}

// handlers are those that classes name or nodes have loaded, or would load.
func (f *Fleet) handlers(classes []nodev1.RuntimeClass) []string {
	seen := map[string]bool{}
	for i := range classes {
		seen[classes[i].Handler] = true
	}
	for _, n := range f.Nodes {
		for _, name := range n.Loaded() {
			seen[name] = true
		}
		if n.Freshness == inventory.Fresh && n.Report.Spec.Next != nil {
			for _, name := range n.Report.Spec.Next.Handlers {
				seen[name] = true
			}
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// overviewStates are the node's States, with those that wait for a restart told
// apart; "" is the default handler.
func (n *Node) overviewStates(handlers []string) map[string]inventory.HandlerState {
	states := n.States(append([]string{""}, handlers...))
	if n.Freshness != inventory.Fresh || n.Report.Spec.Next == nil {
		return states
	}
	for name, state := range states {
		if (state == inventory.Lacking || state == inventory.Lost) && slices.Contains(n.Report.Spec.Next.Handlers, name) {
			states[name] = Pending
		}
	}
	return states
}

// An overviewer makes an Overview.
type overviewer struct {
	*Overview
	runtimes map[string]*Runtime
	drift    map[string]*Drift
	defaults map[string]*Default
	untold   map[inventory.Freshness]*Untold
	rows     map[string]*Row
}

// entry is the value of a key, made when it is needed.
func entry[K comparable, V any](m map[K]*V, key K, empty V) *V {
	if m[key] == nil {
		m[key] = &empty
	}
	return m[key]
}

func (o *overviewer) count(n *Node) {
	o.Nodes.Total++
	*map[inventory.Freshness]*int{
		inventory.Fresh: &o.Nodes.Fresh, inventory.Kubelet: &o.Nodes.Kubelet, inventory.Stale: &o.Nodes.Stale,
		inventory.Young: &o.Nodes.Young, inventory.Silent: &o.Nodes.Silent,
	}[n.Freshness]++
	runtime := n.RuntimeText()
	entry(o.runtimes, runtime, Runtime{Runtime: runtime}).add(n.Name)
	if n.Freshness != inventory.Fresh {
		if o.untold == nil {
			o.untold = map[inventory.Freshness]*Untold{}
		}
		entry(o.untold, n.Freshness, Untold{Freshness: n.Freshness}).add(n.Name)
	}
	if n.IsDown() {
		o.Down.add(n.Name)
	}
	if n.isUnlooked() {
		o.Unlooked.add(n.Name)
	}
	if n.IsCordoned() {
		o.Cordoned.add(n.Name)
	}
	told := map[string]bool{}
	for _, f := range n.Findings() {
		key := f.Code + "\x00" + f.Handler
		if f.Severity == v1alpha1.SeverityInfo || told[key] {
			continue
		}
		told[key] = true
		entry(o.drift, key, Drift{Code: f.Code, Severity: f.Severity, Handler: f.Handler, Message: f.Message, File: f.File, Line: f.Line}).add(n.Name)
	}
}

func (o *overviewer) row(n *Node, states map[string]inventory.HandlerState) {
	d := entry(o.defaults, n.Default(), Default{Handler: n.Default()})
	d.add(n.Name)
	switch states[""] {
	case inventory.Broken:
		d.Broken++
	case inventory.Expiring:
		d.Expiring++
	}
	row := Row{Runtime: n.RuntimeText(), Default: n.Default(), Freshness: n.Freshness, States: []inventory.HandlerState{}}
	key := strings.Builder{}
	key.WriteString(row.Runtime + "\x00" + row.Default + "\x00" + string(row.Freshness))
	for _, name := range o.Handlers {
		row.States = append(row.States, states[name])
		key.WriteString("\x00" + string(states[name]))
	}
	entry(o.rows, key.String(), row).add(n.Name)
}

// lasting puts behind the others what stays for a while when all is well again, and
// is no cause.
func lasting(code string) int {
	if code == v1alpha1.FindingRestartStorm {
		return 1
	}
	return 0
}

// sort puts all in order: what is wrong first, then what is frequent.
func (o *overviewer) sort() {
	for _, r := range o.runtimes {
		o.Runtimes = append(o.Runtimes, *r)
	}
	slices.SortFunc(o.Runtimes, func(a, b Runtime) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Runtime, b.Runtime))
	})
	for _, d := range o.drift {
		o.Drift = append(o.Drift, *d)
	}
	slices.SortFunc(o.Drift, func(a, b Drift) int {
		return cmp.Or(strings.Compare(string(a.Severity), string(b.Severity)), cmp.Compare(lasting(a.Code), lasting(b.Code)), cmp.Compare(b.Count, a.Count), strings.Compare(a.Code, b.Code), strings.Compare(a.Handler, b.Handler))
	})
	for _, d := range o.defaults {
		o.Defaults = append(o.Defaults, *d)
	}
	slices.SortFunc(o.Defaults, func(a, b Default) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Handler, b.Handler))
	})
	for _, freshness := range inventory.Freshnesses {
		if u := o.untold[freshness]; u != nil {
			o.Untold = append(o.Untold, *u)
		}
	}
	for _, r := range o.rows {
		o.Rows = append(o.Rows, *r)
	}
	slices.SortFunc(o.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.gravest(), b.gravest()), cmp.Compare(b.Count, a.Count), strings.Compare(a.Runtime, b.Runtime), strings.Compare(a.Nodes[0], b.Nodes[0]))
	})
}
