package remedy

import (
	"slices"
	"strings"

	"github.com/runtimegate/runtimegate/inventory"
)

// A Phase is when a step comes. Steps of a later phase can undo what is left to do
// in an earlier one.
type Phase int

// The phases, in their order.
const (
	// Down: see why a runtime does not answer. All else that is known of it is what
	// it said before.
	Down Phase = iota
	// Hold back what would make it worse.
	Hold
	// Look at what is loaded.
	Look
	// Change what asks for the handler: a name, a selector, a policy.
	Change
	// Mend files, programs, reporters; bring installers back.
	Mend
	// Watch what restarts the runtime by itself.
	Watch
	// Check that the next start of the runtime would load it.
	Check
	// Drain the node.
	Drain
	// Restart the runtime.
	Restart
	// Again: look again.
	Again
	// Admit Pods to the node again.
	Admit
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

	// closes are the nodes that it keeps Pods off, until they are let in again.
	closes inventory.Nodes
	// undrained: the node must not be drained, whatever else asks for it.
	undrained bool
	// joint is for steps that are to be done once, whatever they are for.
	joint joint
}

// A joint makes one step of several about the same topic.
type joint struct {
	// nodes are those that it is about, and topic what it does there; empty for a
	// step that stands alone.
	nodes, topic string
	// about is the handler for which a file is mended.
	about string
	// also is another topic of which it says no more than a step of a higher rank does.
	also string
	// rank: of a topic the highest has the word.
	rank int
	// begin and end are what the step says, and says what each adds in between.
	begin, end, between string
	says                []string
	// need says of a step that looks again whether a restart was needed before.
	need need
}

// A need says whether a runtime is to be restarted for what was mended.
type need int

const (
	notTold need = iota
	// ifPending: the next report tells.
	ifPending
)

// Plan puts the steps of several remedies into one order, each once. Of a topic
// there is one step.
func Plan(remedies ...[]Step) []Step {
	plan := []Step{}
	undrained := slices.ContainsFunc(slices.Concat(remedies...), func(s Step) bool { return s.undrained })
	for _, step := range slices.Concat(remedies...) {
		if step.Do == "" || undrained && step.Phase == Drain {
			continue
		}
		at := slices.IndexFunc(plan, func(s Step) bool { return s.joins(&step) })
		if at < 0 {
			plan = append(plan, step)
			continue
		}
		plan[at].join(&step)
	}
	plan = reopened(plan)
	slices.SortStableFunc(plan, func(a, b Step) int { return int(a.Phase - b.Phase) })
	for i := range plan {
		plan[i].tellNeed(plan)
	}
	return plan
}

// reopened lets Pods in again on nodes that a step drains.
func reopened(plan []Step) []Step {
	for _, step := range slices.Clone(plan) {
		if step.closes.Count == 0 {
			continue
		}
		open := (&Site{Nodes: step.closes}).uncordon()
		if !slices.ContainsFunc(plan, func(s Step) bool { return s.joins(&open) }) {
			plan = append(plan, open)
		}
	}
	return plan
}

// joins says whether two steps are to become one.
func (s *Step) joins(other *Step) bool {
	if s.joint.topic == "" {
		return s.Do == other.Do && s.On == other.On && slices.Equal(s.Run, other.Run)
	}
	if s.Phase != other.Phase || s.joint.nodes != other.joint.nodes {
		return false
	}
	// What is known of one file of a handler says what there is to do in another.
	same := s.joint.about != "" && s.joint.about == other.joint.about && s.joint.rank != other.joint.rank
	same = same || other.joint.topic != "" && (s.joint.also == other.joint.topic || other.joint.also == s.joint.topic)
	return same || s.joint.topic == other.joint.topic
}

// join takes another step of the same topic in.
func (s *Step) join(other *Step) {
	s.joint.need = max(s.joint.need, other.joint.need)
	switch {
	case s.joint.topic == "" || s.joint.rank > other.joint.rank:
		return
	case s.joint.rank < other.joint.rank:
		need := s.joint.need
		*s = *other
		s.joint.need = need
		return
	}
	s.Run, s.joint.says = with(s.Run, other.Run), with(s.joint.says, other.joint.says)
	if s.joint.end == "" {
		s.joint.end = other.joint.end
	}
	s.Do = s.joint.text()
}

// with adds to a list what it lacks.
func with(all, more []string) []string {
	all = slices.Clone(all)
	for _, one := range more {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

func (j *joint) text() string { return j.begin + strings.Join(j.says, j.between) + j.end }

// joined makes a step of what its joint says.
func joined(phase Phase, on string, j joint, run ...string) Step {
	return Step{Phase: phase, On: on, Do: j.text(), Run: run, joint: j}
}

// tellNeed lets a step that looks again say when a restart is needed, where the plan has
// none: that nothing loaded was ever wrong is not known.
func (s *Step) tellNeed(plan []Step) {
	restarts := func(other Step) bool { return other.Phase == Restart && other.joint.nodes == s.joint.nodes }
	if s.Phase != Again || s.joint.need == notTold || slices.ContainsFunc(plan, restarts) {
		return
	}
	s.Do += " A restart is needed only if RestartPending is a finding then."
}
