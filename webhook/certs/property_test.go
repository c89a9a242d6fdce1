package certs

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

const simSeeds = 150

// simulate runs seeds of the simulation, and checks after each second. The first
// minutes are for the first certificate: no API server can be lost by it.
func simulate(t *testing.T, disturb func(*simulation), check func(*simulation) string) (seconds, made int) {
	t.Helper()
	for seed := range uint64(simSeeds) {
		s := newSimulation(seed, disturb)
		for s.now < 6000 {
			s.tick()
			if s.now > 300 {
				if wrong := check(s); wrong != "" {
					s.fail(t, seed, wrong)
				}
			}
		}
		seconds += s.now
		made += s.made
		if s.made < 9 {
			s.fail(t, seed, fmt.Sprintf("%d certificates were made, want one every 10 minutes", s.made))
		}
	}
	return seconds, made
}

// Whatever replicas do at a time, and whenever one restarts, every API server
// trusts what every replica serves; there is always one that serves, and what
// has expired is gone soon.
func TestRotationIsNeverNoticed(t *testing.T) {
	seconds, made := simulate(t,
		func(s *simulation) {
			if r := s.replicas[s.rng.IntN(3)]; s.now > 300 && s.rng.IntN(200) == 0 && (r.mine == nil || s.serving() > 1) {
				s.restart(r)
			}
		},
		func(s *simulation) string {
			switch wrong := s.broken(); {
			case wrong != "":
				return wrong
			case s.serving() == 0:
				return "nobody serves"
			case len(s.config[0]) > 3:
				return fmt.Sprintf("the bundle grows: %v", ids(s.config[0]))
			}
			for _, a := range s.config[0] {
				if s.time().Sub(a.NotAfter) > 3*lookEvery+simSkew*time.Second {
					return fmt.Sprintf("the bundle has %s, which has long expired", a.ID)
				}
			}
			return ""
		})
	t.Logf("%d seeds, %d hours, %d certificates: every API server trusted every replica at every second", simSeeds, seconds/3600, made)
}

// A Secret that somebody deletes, spoils, or puts back as it was breaks nothing,
// also when replicas restart meanwhile. But he leaves the time for a rotation.
func TestALostSecretIsNeverNoticed(t *testing.T) {
	last := map[*simulation]int{}
	seconds, made := simulate(t,
		func(s *simulation) {
			if s.now <= 300 {
				return
			}
			if s.rng.IntN(300) == 0 {
				s.restart(s.replicas[s.rng.IntN(3)])
			}
			if s.now-last[s] < 2*simSettle || s.rng.IntN(200) > 0 {
				return
			}
			c := s.secret
			switch what := s.rng.IntN(6); what {
			case 0:
				c = contents{}
			case 1:
				c.current, c.damaged = nil, true
			case 2:
				c.next, c.damaged = nil, true
			case 3:
				c = s.past[s.rng.IntN(len(s.past))]
			case 4:
				c = s.past[len(s.past)*9/10]
			case 5: // of another cluster, say
				s.made++
				c = contents{current: simPair(s.made, s.time())}
			}
			// A replica that knows nothing else has to believe what it finds, and its
			// clock may be wrong.
			if c.current != nil && c.current.NotAfter.Sub(s.time()) < 2*simSkew*time.Second {
				return
			}
			s.tell("somebody makes the Secret %s", describe(c))
			s.putSecret(c)
			last[s] = s.now
		},
		(*simulation).broken)
	t.Logf("%d seeds, %d hours, %d certificates: every API server trusted every replica at every second", simSeeds, seconds/3600, made)
}

// A configuration that somebody empties, spoils or replaces is mended as soon as
// possible: all is well again once the API servers have heard of it.
func TestALostConfigurationIsMended(t *testing.T) {
	foreign := Authority{ID: "foreign", NotAfter: time.Unix(1<<40, 0)}
	const mended = 2*60 + 2*simSettle + 60 // seconds: two looks of which no watch told, two writes, pauses
	last := map[*simulation]int{}
	simulate(t,
		func(s *simulation) {
			if s.now <= 300 || s.now-last[s] < 600 || s.rng.IntN(200) > 0 {
				return
			}
			hooks := slices.Clone(s.config)
			switch what := s.rng.IntN(4); what {
			case 0:
				hooks = make([][]Authority, simHooks)
			case 1:
				hooks[s.rng.IntN(simHooks)] = nil
			case 2:
				hooks = slices.Repeat([][]Authority{{foreign}}, simHooks)
			case 3:
				hooks[s.rng.IntN(simHooks)] = []Authority{foreign}
			}
			if s.rng.IntN(3) == 0 {
				s.restart(s.replicas[s.rng.IntN(3)])
			}
			s.tell("somebody makes the bundles %v %v", ids(hooks[0]), ids(hooks[1]))
			s.putConfig(hooks)
			last[s] = s.now
		},
		func(s *simulation) string {
			if s.now-last[s] < mended {
				return ""
			}
			if s.serving() < 3 {
				return "a replica serves nothing"
			}
			return s.broken()
		})
}

// A change to the built-in way from another: what was trusted before stays so
// while old replicas serve it, and is gone after the next rotation.
func TestAnAuthorityOfOthersStaysForALife(t *testing.T) {
	foreign := Authority{ID: "foreign", NotAfter: time.Unix(1<<40, 0)}
	stayed := 0
	simulate(t,
		func(s *simulation) {
			if s.now == 1 {
				s.putConfig(slices.Repeat([][]Authority{{foreign}}, simHooks))
				for _, server := range s.servers {
					server.hooks = s.config
				}
			}
			if s.now < 500 && s.made < 2 {
				for _, hook := range s.config {
					if !has(hook, foreign) {
						t.Fatalf("second %d: the authority of others is gone: %v", s.now, ids(hook))
					}
				}
				if wrong := s.broken(); wrong != "" {
					t.Fatalf("second %d: %s", s.now, wrong)
				}
				stayed++
			}
		},
		func(s *simulation) string {
			if s.now > 1500 && has(s.config[0], foreign) {
				return "the authority of others is still there"
			}
			return s.broken()
		})
	if stayed == 0 {
		t.Error("nothing was looked at")
	}
}
