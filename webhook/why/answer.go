package why

import (
	"time"

	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/inventory/v1alpha1"
	"github.com/runtimegate/runtimegate/webhook/remedy"
)

// An Outcome sums an Answer up.
type Outcome string

// The outcomes.
const (
	// Fine: nothing is wrong.
	Fine Outcome = "Fine"
	// Wrong: it does not work, or will not after the next restart of a runtime.
	Wrong Outcome = "Wrong"
	// Unknown: nothing is known to be wrong, and not all is known.
	Unknown Outcome = "Unknown"
)

// An Answer says why an object does not start, or that nothing keeps it. Its JSON
// is the contract of "runtimegate why -o json".
type Answer struct {
	Object  Object  `json:"object"`
	Outcome Outcome `json:"outcome"`
	// Summary is one sentence.
	Summary string `json:"summary"`
	// Chain is the way from the object to the nodes; absent for a node.
	Chain *Chain `json:"chain,omitempty"`
	// Groups are the nodes in question, those that are alike together.
	Groups []Group `json:"groups"`
	// Verdict is the webhook's; absent for a node.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Events are the object's own and its Pods', as far as they say something.
	Events []Event `json:"events"`
	// Node is what is known of a node; absent for all else.
	Node *Node `json:"node,omitempty"`
	// Steps mend it, in this order.
	Steps []remedy.Step `json:"steps"`
}

// An Object says what an Answer is about.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// A Chain is the way from an object to the nodes.
type Chain struct {
	// Class is the RuntimeClass, empty if none is named.
	Class string `json:"class"`
	// ClassFound says whether it is there.
	ClassFound bool `json:"classFound"`
	// Handler is what the class names, empty for the default handler of each node.
	Handler      string            `json:"handler"`
	NodeSelector map[string]string `json:"nodeSelector"`
	// Bound is the node to which the Pod is bound already.
	Bound string `json:"bound"`
	// Looked: nodes were looked for; they are not where the API server rejects the
	// Pods.
	Looked bool `json:"looked"`
	// Candidates are the nodes it may land on, of Nodes in all; and how many of them
	// have the handler, lack it, and have not told.
	Nodes      int `json:"nodes"`
	Candidates int `json:"candidates"`
	Have       int `json:"have"`
	Lack       int `json:"lack"`
	NotKnown   int `json:"notKnown"`
	// RuledOut are nodes that it may not land on and that do not have the handler.
	RuledOut int `json:"ruledOut"`
}

// A Group is nodes that are alike.
type Group struct {
	Place     string `json:"place"`
	Taint     string `json:"taint,omitempty"`
	Runtime   string `json:"runtime"`
	Freshness string `json:"freshness"`
	State     string `json:"state"`
	// Doubt is why it is not known of these nodes what they have: Silent, Stale or
	// Young; empty where it is known.
	Doubt string `json:"doubt,omitempty"`
	// Down: their runtime does not answer, and what is said of it is what was before.
	// NotReady: the nodes are not Ready.
	Down     bool `json:"down,omitempty"`
	NotReady bool `json:"notReady,omitempty"`
	// Cordoned: no new Pod is put on them.
	Cordoned bool          `json:"cordoned,omitempty"`
	Written  fleet.Answer  `json:"written"`
	Next     fleet.Answer  `json:"next"`
	Loaded   fleet.Answer  `json:"loaded"`
	Runnable fleet.Answer  `json:"runnable"`
	Count    int           `json:"count"`
	Nodes    []string      `json:"nodes"`
	Findings []NodeFinding `json:"findings"`
}

// A NodeFinding is a finding of the first node of a Group.
type NodeFinding struct {
	Code     string            `json:"code"`
	Severity v1alpha1.Severity `json:"severity"`
	File     string            `json:"file,omitempty"`
	Line     int32             `json:"line,omitempty"`
	Handler  string            `json:"handler,omitempty"`
	Message  string            `json:"message"`
	// Steps are what mends this one finding; of a node's answer only.
	Steps []remedy.Step `json:"steps,omitempty"`
}

// A Verdict is what the webhook says.
type Verdict struct {
	Action     string      `json:"action"`
	Conditions []Condition `json:"conditions"`
}

// A Condition is one that holds.
type Condition struct {
	Condition string `json:"condition"`
	Action    string `json:"action"`
	Message   string `json:"message"`
}

// An Event is one that says something of the handler, or of the sandbox.
type Event struct {
	Time time.Time `json:"time"`
	// On is the object that it is about, as pod/web-0.
	On      string `json:"on"`
	Node    string `json:"node,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Count   int    `json:"count"`
	// Cause and Meaning are what it says, and By whose words these are.
	Cause   string `json:"cause"`
	By      string `json:"by"`
	Meaning string `json:"meaning"`
	// Past: it is known to be over, and does not count.
	Past bool `json:"past,omitempty"`
}

// A Node is what is known of a node.
type Node struct {
	Runtime   string     `json:"runtime"`
	Version   string     `json:"version"`
	Endpoint  string     `json:"endpoint"`
	StartedAt *time.Time `json:"startedAt,omitempty"`
	Freshness string     `json:"freshness"`
	// ObservedAt is when the runtime last answered.
	ObservedAt *time.Time `json:"observedAt,omitempty"`
	RenewedAt  *time.Time `json:"renewedAt,omitempty"`
	// Down: the runtime does not answer. NotReady says since when and why the node
	// is not Ready; empty if it is.
	Down     bool   `json:"down,omitempty"`
	NotReady string `json:"notReady,omitempty"`
	// Cordoned: no new Pod is put on the node.
	Cordoned       bool          `json:"cordoned,omitempty"`
	DefaultHandler string        `json:"defaultHandler"`
	Handlers       []Handler     `json:"handlers"`
	Findings       []NodeFinding `json:"findings"`
}

// A Handler is what is known of a handler on a node.
type Handler struct {
	Name     string       `json:"name"`
	Classes  []string     `json:"classes"`
	State    string       `json:"state"`
	Written  fleet.Answer `json:"written"`
	Next     fleet.Answer `json:"next"`
	Loaded   fleet.Answer `json:"loaded"`
	Runnable fleet.Answer `json:"runnable"`
	Origin   string       `json:"origin,omitempty"`
}

func newFindings(found []v1alpha1.Finding) []NodeFinding {
	out := []NodeFinding{}
	for _, f := range found {
		out = append(out, NodeFinding{Code: f.Code, Severity: f.Severity, File: f.File, Line: f.Line, Handler: f.Handler, Message: f.Message})
	}
	return out
}
