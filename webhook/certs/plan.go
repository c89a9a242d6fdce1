package certs

import (
	"cmp"
	"slices"
	"time"
)

// The rotation, in the order in which its states follow each other:
//
//	Secret           webhook configuration   served
//	current          current                 current
//	current, next    current                 current    a third of the life is left
//	current, next    current, next           current    API servers learn of it: settle
//	next             current, next           next       until current has expired
//	next             next                    next
//
// Any replica takes the next step. What two of them do at a time meets in the
// resource version of the Secret or of the configuration, and one looks again.

// contents is what the Secret holds. Each replica serves current, and nobody
// serves next yet.
type contents struct {
	current, next *Pair
	damaged       bool // it holds something else under their names
}

// lives are what an admin chooses.
type lives struct {
	hosts    []string
	lifetime time.Duration // of a new certificate
	settle   time.Duration // in which all API servers learn of a changed configuration
}

// A view is what a replica knows at one moment.
type view struct {
	now    time.Time
	secret contents
	// hooks are the bundles of the webhooks. There are none while there is no
	// configuration: nobody is asked then.
	hooks [][]Authority
	// standing is how long this replica has seen the configuration as it is.
	standing time.Duration
	mine     *Pair // what this replica serves
}

// A step is what to do now: serve, and at most one of the writes.
type step struct {
	serve *Pair
	// secret is to be written. With fresh, a new pair for these hosts is made
	// first and becomes next.
	secret *contents
	fresh  []string
	// bundle is to be written to every webhook of the configuration.
	bundle []Authority
	why    string        // of a write
	again  time.Duration // when to look again, if nothing has changed before
}

// lookEvery bounds how long a change is overlooked of which no watch told.
const lookEvery = time.Minute

// bundleMax is how many authorities made here are kept in a bundle, should
// somebody delete the Secret again and again.
const bundleMax = 8

// plan decides on the next step.
func plan(v view, o lives) step {
	s, fresh, why := v.settled(o)
	out := step{serve: usable(v.mine, v.now)}
	if s.current != nil && same(s.current, v.secret.current) {
		out.serve = s.current
	}
	if s.current != nil && s.next == nil && fresh == nil {
		if hosts, because := s.current.renewal(o, v.now); hosts != nil {
			fresh, why = hosts, because
		}
	}
	if why != "" {
		out.secret, out.fresh, out.why = &s, fresh, why
		return out
	}
	if bundle := v.bundle(s, o); bundle != nil {
		out.bundle, out.why = bundle, "API servers are to trust what is served, and what will be"
		return out
	}
	if s.next != nil && v.standing >= o.settle {
		out.secret, out.why = &contents{current: s.next}, "API servers trust the next certificate"
		return out
	}
	out.again = v.next(s, o)
	return out
}

// settled settles on what is current and what is next, by the Secret and, where
// that is lost or is not what API servers trust, by what this replica serves. It
// says why that is not what the Secret has, and for which hosts something new is
// needed.
func (v view) settled(o lives) (s contents, fresh []string, why string) {
	s, mine := v.secret, usable(v.mine, v.now)
	if s.current = usable(s.current, v.now); same(s.current, s.next) {
		s.next = nil
	}
	// Made by a clock far ahead API servers would not take it; made long before
	// what is served it was put back with an old Secret.
	if s.next = usable(s.next, v.now); s.next != nil &&
		(s.next.NotBefore.After(v.now) || s.next.older(mine, o) || s.next.older(s.current, o)) {
		s.next = nil
	}
	asIs := !s.damaged && same(s.current, v.secret.current) && same(s.next, v.secret.next)
	if s.damaged = false; !asIs {
		why = "what the Secret holds cannot be used"
	}
	current, served := v.trust(s.current), v.trust(mine)
	old := s.current.older(mine, o) // a Secret that was put back is as good as lost
	switch {
	case current > 0 && current >= served && (!old || served == 0):
		// As it should be.
	case served > 0:
		why = "the Secret lacks the certificate that is served"
		if s.next == nil && !old {
			s.next = s.current
		}
		if s.current = mine; same(s.next, mine) {
			s.next = nil
		}
		if s.next == nil {
			fresh = o.hosts // whoever deletes the Secret wants new keys
		}
	case s.current == nil && s.next == nil && mine == nil:
		return s, o.hosts, "there is no certificate"
	case !v.anyTrusted():
		// No API server can be lost by serving at once.
		if s.current == nil {
			s.current, why = cmp.Or(mine, s.next), "nobody serves a certificate that API servers trust"
		}
		if same(s.current, s.next) {
			s.next = nil
		}
	case mine == nil && s.current != nil:
		// Somebody may serve what API servers do trust; this they have to learn first.
		s.next, s.current = cmp.Or(s.next, s.current), nil
		why = "API servers do not trust the certificate yet"
	case s.current == nil && s.next == nil:
		s.current, why = mine, "the Secret lacks the certificate that is served"
	}
	return s, fresh, why
}

// renewal says for which hosts a certificate is needed in place of one that is
// still valid, if it is.
func (p *Pair) renewal(o lives, now time.Time) (hosts []string, why string) {
	if p.due(o, now) {
		return o.hosts, "two thirds of the certificate's life are over"
	}
	// Replicas with other flags keep their hosts, or each would undo what the
	// other does.
	hosts = slices.Clone(p.Hosts)
	for _, host := range o.hosts {
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) > len(p.Hosts) {
		return hosts, "the certificate lacks a host"
	}
	return nil, ""
}

// older says whether a pair was made long before another: longer than clocks
// differ, or replicas would undo each other's rotations.
func (p *Pair) older(than *Pair, o lives) bool {
	return p != nil && than != nil && than.NotBefore.Sub(p.NotBefore) > o.lifetime/30
}

// due says whether less than a third of the life is left.
func (p *Pair) due(o lives, now time.Time) bool {
	return p.NotAfter.Sub(now) < o.lifetime/3
}

// bundle is what to write to the webhooks, or nil if they may stay as they are.
//
// What else they trust stays until it has expired: a replica that is cut off may
// still serve it. Authorities of others (of cert-manager, say, which was used
// before) stay while a certificate made here is young, and go when the next one
// comes.
func (v view) bundle(s contents, o lives) []Authority {
	var bundle []Authority
	for _, p := range []*Pair{s.current, s.next} {
		if p != nil {
			bundle = append(bundle, p.Authority)
		}
	}
	needed := len(bundle)
	lacking, expired := false, false
	var others []Authority
	for _, hook := range v.hooks {
		for _, a := range bundle[:needed] {
			lacking = lacking || !has(hook, a)
		}
		for _, a := range hook {
			switch {
			case !a.NotAfter.After(v.now):
				expired = true
			case !has(bundle, a) && !has(others, a):
				others = append(others, a)
			}
		}
	}
	if !lacking && !expired {
		return nil
	}
	slices.SortFunc(others, func(a, b Authority) int {
		return cmp.Or(b.NotAfter.Compare(a.NotAfter), cmp.Compare(a.ID, b.ID))
	})
	young := s.current == nil || s.current.NotAfter.Sub(v.now) > o.lifetime/2
	for _, a := range others {
		if a.Ours && len(bundle) < bundleMax || !a.Ours && young {
			bundle = append(bundle, a)
		}
	}
	return bundle
}

// next is how long nothing is to be done, if nothing changes.
func (v view) next(s contents, o lives) time.Duration {
	wait := lookEvery
	if s.next != nil {
		wait = min(wait, o.settle-v.standing)
	}
	if s.current != nil && s.next == nil {
		wait = min(wait, s.current.NotAfter.Sub(v.now)-o.lifetime/3)
	}
	for _, hook := range v.hooks {
		for _, a := range hook {
			wait = min(wait, a.NotAfter.Sub(v.now))
		}
	}
	return max(wait, 0)
}

// trust is how many webhooks trust a pair, where nobody is asked at least one.
func (v view) trust(p *Pair) int {
	if p == nil {
		return 0
	}
	n := 0
	for _, hook := range v.hooks {
		if has(hook, p.Authority) {
			n++
		}
	}
	if len(v.hooks) == 0 {
		n = 1
	}
	return n
}

// anyTrusted says whether the webhooks trust anything that has not expired.
func (v view) anyTrusted() bool {
	return slices.ContainsFunc(v.hooks, func(hook []Authority) bool {
		return slices.ContainsFunc(hook, func(a Authority) bool { return a.NotAfter.After(v.now) })
	})
}

func has(bundle []Authority, a Authority) bool {
	return slices.ContainsFunc(bundle, func(b Authority) bool { return b.ID == a.ID })
}

// usable is the pair, unless it has expired.
func usable(p *Pair, now time.Time) *Pair {
	if p == nil || !p.NotAfter.After(now) {
		return nil
	}
	return p
}

func same(a, b *Pair) bool {
	return a == b || a != nil && b != nil && a.Authority.ID == b.Authority.ID
}
