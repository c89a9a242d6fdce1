package inventory

import "slices"

// A viewKey is what is known of a node at one time, but for its labels, taints
// and room.
type viewKey struct {
	listing *pooled[listing]
	report  *pooled[reported] // nil for none
	// current: the report is neither too old nor from the future. young: installers
	// may still be at work on the node.
	current, young bool
}

// A view is what follows from a viewKey.
type view struct {
	*listing
	*reported
	// fresh: the report counts. It knows handlers and is current.
	fresh, current, young bool
	// kinds is how many kinds are of it.
	kinds int
	// number is its place in the snapshot that is being built.
	number int32
	// loaded are the handlers known to be loaded, sorted. complete: one that is not
	// among them is known to be missing.
	loaded   []string
	complete bool
}

var noReport reported

func newView(key viewKey) *view {
	v := &view{listing: &key.listing.of, reported: &noReport, current: key.current, young: key.young}
	if key.report != nil {
		v.reported = &key.report.of
	}
	v.fresh = key.current && len(v.reported.handlers) > 0
	v.loaded, v.complete = v.handlers()
	return v
}

// handlers returns what is known to be loaded, best source first, and whether a
// handler that is not among them is known to be missing.
func (v *view) handlers() (loaded []string, complete bool) {
	if v.isDown() {
		return nil, false
	}
	listed := v.listing.handlers
	if v.fresh {
		complete = !v.unproven && !v.young
		if v.fromDump {
			// A dump is what the next start would load. What the kubelet heard from
			// the running runtime counts more, and a node that is not Ready may be
			// about to start it.
			if len(listed) > 0 && v.ready {
				return listed, !v.young
			}
			complete = complete && v.ready
		}
		return v.reported.handlers, complete
	}
	// A kubelet that is not Ready no longer says what its runtime has: the
	// runtime may come back with more.
	return listed, len(listed) > 0 && v.ready && !v.young
}

// isDown says whether the runtime does not answer, so that nothing is loaded of which
// anybody knows; the kubelet's list is as old as the report's.
func (v *view) isDown() bool { return v.fresh && v.down }

// knowledge says what is known about one handler on the node; "" is the default
// handler, which a node can have or not tell of, but not lack.
func (v *view) knowledge(handler string) Knowledge {
	if v.isDown() {
		return UnknownDown
	}
	if handler == "" {
		_, listed := v.listing.offers[""]
		if v.fresh && v.standard != "" || listed && v.ready {
			return Has
		}
		return v.ignorance()
	}
	if v.fresh && slices.Contains(v.unconfirmed, handler) {
		return UnknownSilent
	}
	if _, ok := slices.BinarySearch(v.loaded, handler); ok {
		return Has
	}
	if v.complete {
		return Lacks
	}
	return v.ignorance()
}

// tells says what is known of the features of a handler that the node has.
func (v *view) tells(handler string) offers {
	told := v.listing.offers[handler].or(v.groups)
	if !v.fresh {
		return told
	}
	if handler == "" {
		handler = v.standard
	}
	return v.reported.offers[handler].or(v.cdi).or(told)
}

// ignorance says why it is not known whether the node has a handler.
func (v *view) ignorance() Knowledge {
	switch {
	case v.young:
		return UnknownYoung
	case len(v.reported.handlers) > 0 && !v.fresh:
		return UnknownStale
	}
	return UnknownSilent
}

// A kindKey is all that is known of a node but for its labels.
type kindKey struct {
	taints *pooled[taintList]
	room   *pooled[room]
	viewKey
}

// A kind is nodes that differ in their labels only.
type kind struct {
	kindKey
	view *view
	// groups is how many groups are of it.
	groups int
	// number is its place in the snapshot that is being built.
	number int32
}

// A groupKey is all that is known of a node but for which one it is.
type groupKey struct {
	labels *pooled[labelSet]
	kind   *kind
}

// A group is nodes between which no question makes a difference, unless it is
// about a naming key or a node's name.
type group struct {
	groupKey
	// number is its place in lists of all groups.
	number int32
	// members are the slots of its nodes, in the order of their names.
	members sorted[int32]
	// first are the first of their names, SampleSize at most.
	first []string
	// leaving and joining are the nodes to be taken from it and added to it, and
	// touched says whether it is to be looked at before the next snapshot.
	leaving, joining []int32
	touched          bool
}
