package webhook

import "slices"

// A Condition is what is the matter with a handler for a Pod or a RuntimeClass.
type Condition string

// The conditions.
const (
	// Missing: there are nodes to land on, all have told what they have loaded,
	// and none has the handler.
	Missing Condition = "Missing"
	// Partial: some of the nodes have the handler; others lack it, or have not
	// told.
	Partial Condition = "Partial"
	// Unknown: no node is known to have the handler, and it cannot be said that
	// none has it.
	Unknown Condition = "Unknown"
	// Broken: every node that has the handler lacks the shim or the OCI runtime
	// behind it, or what says which.
	Broken Condition = "Broken"
	// Expiring: nodes have the handler, and lose it at the next start of their
	// runtime, or what its Pods need to start.
	Expiring Condition = "Expiring"
	// Forbidden: a policy does not allow the handler, or the default handler, in
	// the namespace.
	Forbidden Condition = "Forbidden"
	// Oversized: the Pod would fit a node that has the handler, but not with the
	// overhead of its class.
	Oversized Condition = "Oversized"
	// FeatureMissing: no node that has the handler offers what the Pod needs of
	// it.
	FeatureMissing Condition = "FeatureMissing"
	// Rejected: the API server's RuntimeClass admission would reject the Pods
	// that a template makes, which else only the events of a ReplicaSet tell; or
	// the runtime refuses the Pod whatever it has loaded.
	Rejected Condition = "Rejected"
)

// What is counted of decisions that are about no handler.
const (
	// invalid: a RuntimePolicy that could not be enforced.
	invalid Condition = "Invalid"
	// effective: a RuntimePolicy of whose effect there is something to tell.
	effective Condition = "Effective"
	// inUse: a RuntimeClass that is deleted and still used, as far as is known.
	inUse Condition = "InUse"
)

// policyConditions are the conditions that a RuntimePolicy can name.
var policyConditions = []Condition{Missing, Partial, Unknown, Broken, Expiring, Forbidden, Oversized, FeatureMissing}

// Conditions are all that a verdict may have.
var Conditions = append(slices.Clip(policyConditions), Rejected)

// An Action is what is done about a condition. Actions are ordered: the larger
// is the stricter.
type Action int

// The actions.
const (
	Allow Action = iota
	// Audit writes the audit annotations and counts, and says nothing.
	Audit
	// Warn lets pass, with a warning to whoever applies.
	Warn
	// Deny rejects.
	Deny
)

// String returns the name of the action, as a policy has it.
func (a Action) String() string {
	return [...]string{"Allow", "Audit", "Warn", "Deny"}[a]
}

// builtinAction is what is done on a Pod where no policy says otherwise.
func builtinAction(c Condition) Action {
	if c == Missing || c == Forbidden {
		return Deny
	}
	return Warn
}
