package remedy

import (
	"slices"
)

// A Phase is when a step comes. Steps of a later phase can undo what is left to do
// in an earlier one.
type Phase int

// The phases, in their order.
const (
	// Hold back what would make it worse.
	Hold Phase = iota
	// Look at what is loaded.
	Look
	// Change what asks for the handler: a name, a selector, a policy.
	Change
	// Mend files, programs, reporters; bring installers back.
	Mend
	// Check that the next start of the runtime would load it.
	Check
	// Drain the node.
	Drain
	// Restart the runtime.
	Restart
	// Again: look again.
	Again
)

// A Step is one thing to do.
type Step struct {
	Phase Phase `json:"-"`
	// Do is one sentence.
	Do string `json:"do"`
	// Run are commands that do it, if commands can.
	Run []string `json:"run,omitempty"`
	// On are the nodes on which to run them; empty for where kubectl works.
	On string `json:"on,omitempty"`

	// undrained: the node must not be drained, whatever else asks for it.
	undrained bool
}

// Plan puts the steps of several remedies into one order, each once.
func Plan(remedies ...[]Step) []Step {
	plan := []Step{}
	undrained := slices.ContainsFunc(slices.Concat(remedies...), func(s Step) bool { return s.undrained })
	for _, steps := range remedies {
		steps = slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return undrained && s.Phase == Drain })
		for _, step := range steps {
			if !slices.ContainsFunc(plan, func(s Step) bool { return s.Do == step.Do && s.On == step.On && slices.Equal(s.Run, step.Run) }) {
				plan = append(plan, step)
			}
		}
	}
	slices.SortStableFunc(plan, func(a, b Step) int { return int(a.Phase - b.Phase) })
	return plan
}
