package certs

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The plan of single situations. Of each certificate the name is also that of its
// authority; the clock stands at 0, and a life is 90 minutes.
func TestPlan(t *testing.T) {
	const settle = 5 * time.Minute
	o := lives{hosts: []string{"gate"}, lifetime: 90 * time.Minute, settle: settle}
	now := time.Unix(1_000_000_000, 0)
	made := func(name string, ago time.Duration) *Pair {
		end := now.Add(-ago).Add(o.lifetime)
		return &Pair{
			Authority: Authority{ID: name, NotAfter: end, Ours: name != "foreign"},
			NotBefore: now.Add(-ago), NotAfter: end, Hosts: []string{"gate"},
		}
	}
	young, due, gone, next := made("young", 10*time.Minute), made("due", 61*time.Minute), made("gone", 91*time.Minute), made("next", 0)
	foreign := made("foreign", 0)
	elsewhere := made("elsewhere", 10*time.Minute)
	elsewhere.Hosts = []string{"other"}
	early := made("early", -time.Hour)
	trust := func(pairs ...*Pair) [][]Authority {
		var bundle []Authority
		for _, p := range pairs {
			bundle = append(bundle, p.Authority)
		}
		return [][]Authority{bundle, bundle}
	}

	for name, c := range map[string]struct {
		secret   contents
		hooks    [][]Authority
		standing time.Duration
		mine     *Pair
		// want: what is served, and "Secret {current, next}", "bundle [...]" or how
		// long to wait.
		serves, does string
	}{
		"a first certificate": {
			hooks: trust(), does: "Secret {-, made for gate}",
		},
		"the first one is served at once, since API servers trust nothing yet": {
			secret: contents{next: next}, hooks: trust(), does: "Secret {next, -}",
		},
		"API servers are told of the first one": {
			secret: contents{current: next}, hooks: trust(), serves: "next", does: "bundle [next]",
		},
		"nothing is to do": {
			secret: contents{current: young}, hooks: trust(young), mine: young, serves: "young", does: "wait 1m0s",
		},
		"a look is due when a certificate is": {
			secret: contents{current: made("almost", 60*time.Minute-30*time.Second)}, hooks: trust(made("almost", 0)), serves: "almost", does: "wait 30s",
		},
		"there is no webhook configuration": {
			secret: contents{current: young}, serves: "young", does: "wait 1m0s",
		},
		"a new replica serves what API servers trust": {
			secret: contents{current: young}, hooks: trust(young), serves: "young", does: "wait 1m0s",
		},
		"a third of the life is left": {
			secret: contents{current: due}, hooks: trust(due), mine: due, serves: "due", does: "Secret {due, made for gate}",
		},
		"a host is lacking: those of other replicas stay": {
			secret: contents{current: elsewhere}, hooks: trust(elsewhere), mine: elsewhere, serves: "elsewhere", does: "Secret {elsewhere, made for other,gate}",
		},
		"API servers are told of the next one": {
			secret: contents{current: due, next: next}, hooks: trust(due), mine: due, serves: "due", does: "bundle [due next]",
		},
		"and have time to learn of it": {
			secret: contents{current: due, next: next}, hooks: trust(due, next), standing: settle - time.Second, mine: due, serves: "due", does: "wait 1s",
		},
		"then it takes over": {
			secret: contents{current: due, next: next}, hooks: trust(due, next), standing: settle, mine: due, serves: "due", does: "Secret {next, -}",
		},
		"each replica takes it from the Secret; the one before stays trusted": {
			secret: contents{current: next}, hooks: trust(due, next), mine: due, serves: "next", does: "wait 1m0s",
		},
		"until it has expired": {
			secret: contents{current: next}, hooks: trust(next, gone), mine: next, serves: "next", does: "bundle [next]",
		},
		"a deleted Secret is written anew with what is served, and new keys": {
			hooks: trust(young), mine: young, serves: "young", does: "Secret {young, made for gate}",
		},
		"so is one that is nonsense": {
			secret: contents{damaged: true}, hooks: trust(young), mine: young, serves: "young", does: "Secret {young, made for gate}",
		},
		"only the next one is nonsense": {
			secret: contents{current: young, damaged: true}, hooks: trust(young), mine: young, serves: "young", does: "Secret {young, -}",
		},
		"a Secret of elsewhere is not believed": {
			secret: contents{current: elsewhere}, hooks: trust(young), mine: young, serves: "young", does: "Secret {young, elsewhere}",
		},
		"nor by a replica that knows nothing else: API servers learn of it first": {
			secret: contents{current: elsewhere}, hooks: trust(young), does: "Secret {-, elsewhere}",
		},
		"a Secret that was put back is not believed, even if it is trusted": {
			secret: contents{current: due, next: made("later", 50*time.Minute)}, hooks: trust(due, young), mine: young, serves: "young", does: "Secret {young, made for gate}",
		},
		"a next one older than the current one": {
			secret: contents{current: young, next: due}, hooks: trust(young), mine: young, serves: "young", does: "Secret {young, -}",
		},
		"a next one that is not valid yet": {
			secret: contents{current: due, next: early}, hooks: trust(due), mine: due, serves: "due", does: "Secret {due, made for gate}",
		},
		"all have expired": {
			secret: contents{current: gone}, hooks: trust(gone), mine: gone, does: "Secret {-, made for gate}",
		},
		"the configuration was emptied": {
			secret: contents{current: young}, hooks: trust(), mine: young, serves: "young", does: "bundle [young]",
		},
		"a webhook was added": {
			secret: contents{current: young}, hooks: [][]Authority{{young.Authority}, nil}, mine: young, serves: "young", does: "bundle [young]",
		},
		"one webhook lacks what another replica just switched to": {
			secret: contents{current: next}, hooks: [][]Authority{{young.Authority, next.Authority}, {young.Authority}}, mine: young,
			serves: "young", does: "Secret {young, next}",
		},
		"the configuration and the Secret were both spoilt": {
			hooks: trust(foreign), mine: young, serves: "young", does: "Secret {young, -}",
		},
		"both were emptied": {
			hooks: trust(), mine: young, serves: "young", does: "Secret {young, -}",
		},
		"others were trusted before: their authority stays": {
			secret: contents{next: next}, hooks: trust(foreign), does: "bundle [next foreign]",
		},
		"and goes at the next rotation": {
			secret: contents{current: due, next: next}, hooks: trust(due, foreign), mine: due, serves: "due", does: "bundle [due next]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := plan(view{now: now, secret: c.secret, hooks: c.hooks, standing: c.standing, mine: c.mine}, o)
			serves := ""
			if got.serve != nil {
				serves = got.serve.Authority.ID
			}
			if serves != c.serves || spell(got) != c.does {
				t.Errorf("serves %q and does %q, want %q and %q", serves, spell(got), c.serves, c.does)
			}
			if write := got.secret != nil || got.bundle != nil; write != (got.why != "") {
				t.Errorf("writes: %t, because %q", write, got.why)
			}
		})
	}
}

// spell is a step in the words of the table.
func spell(s step) string {
	switch {
	case s.secret != nil:
		text := describe(*s.secret)
		if s.fresh != nil {
			text = strings.TrimSuffix(text, "-}") + "made for " + strings.Join(s.fresh, ",") + "}"
		}
		return "Secret " + text
	case s.bundle != nil:
		return "bundle [" + strings.Join(ids(s.bundle), " ") + "]"
	}
	return "wait " + s.again.String()
}

// A bundle does not grow without end, whatever is done to the Secret.
func TestABundleIsBounded(t *testing.T) {
	o := simLives
	now := time.Unix(1_000_000_000, 0)
	var bundle []Authority
	for i := range 20 {
		bundle = append(bundle, Authority{ID: string(rune('a' + i)), NotAfter: now.Add(time.Duration(i+1) * time.Minute), Ours: true})
	}
	pair := simPair(1, now)
	got := plan(view{now: now, secret: contents{current: pair}, hooks: [][]Authority{bundle}, mine: pair}, o)
	if want := []string{"1", "t", "s", "r", "q", "p", "o", "n"}; !slices.Equal(ids(got.bundle), want) {
		t.Errorf("got %v, want %v: those that expire last", ids(got.bundle), want)
	}
}
