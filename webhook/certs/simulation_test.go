package certs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A simulation of replicas, which run the plan, and API servers, which learn of
// the webhook configuration some time after it was written: at most settle. Its
// time goes in seconds.

const (
	simHooks  = 2
	simSettle = 60
	simLife   = 900 * time.Second
	// simSkew is how far a replica's clock may be off.
	simSkew = 10
)

var simLives = lives{hosts: []string{"gate"}, lifetime: simLife, settle: simSettle * time.Second}

type simulation struct {
	rng      *rand.Rand
	now      int
	secret   contents
	version  int // of the Secret
	config   [][]Authority
	written  int // version of the configuration
	servers  []*simServer
	replicas []*simReplica
	made     int
	past     []contents // what the Secret held, for a restore
	disturbs func(*simulation)
	told     []string // what happened, for a failure
}

// A simServer is an API server: news are what it has not heard of yet.
type simServer struct {
	hooks [][]Authority
	news  []simNews
}

type simNews struct {
	at    int
	hooks [][]Authority
}

// A simReplica takes its steps in stages, between which others act.
type simReplica struct {
	name    string
	skew    time.Duration
	mine    *Pair
	wake    int
	stage   int
	held    contents // read in stage 0
	version int
	hooks   [][]Authority // read in stage 1
	written int
	seen    int // version of the configuration
	since   int
	todo    step
}

func newSimulation(seed uint64, disturb func(*simulation)) *simulation {
	s := &simulation{rng: rand.New(rand.NewPCG(seed, 6)), config: make([][]Authority, simHooks), disturbs: disturb}
	for range 3 {
		s.servers = append(s.servers, &simServer{hooks: s.config})
	}
	for i := range 3 {
		s.replicas = append(s.replicas, &simReplica{
			name: fmt.Sprintf("r%d", i), wake: s.rng.IntN(20), skew: time.Duration(s.rng.IntN(2*simSkew)-simSkew) * time.Second,
		})
	}
	return s
}

func (s *simulation) time() time.Time { return time.Unix(int64(s.now), 0) }

func (s *simulation) tell(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf("%5d  ", s.now)+fmt.Sprintf(format, args...))
}

// tick lets a second pass.
func (s *simulation) tick() {
	s.now++
	for _, server := range s.servers {
		for len(server.news) > 0 && server.news[0].at <= s.now {
			server.hooks, server.news = server.news[0].hooks, server.news[1:]
		}
	}
	s.disturbs(s)
	for _, r := range s.replicas {
		for r.wake <= s.now {
			s.act(r)
		}
	}
}

// lag is how long a replica takes from one request to the next.
func (s *simulation) lag() int {
	if s.rng.IntN(50) == 0 {
		return s.rng.IntN(20)
	}
	return s.rng.IntN(2)
}

func (s *simulation) act(r *simReplica) {
	switch r.stage {
	case 0:
		r.held, r.version, r.stage = s.secret, s.version, 1
	case 1:
		r.hooks, r.written, r.stage = s.config, s.written, 2
		if r.seen != r.written {
			r.seen, r.since = r.written, s.now
		}
	case 2:
		if r.version != s.version {
			r.held, r.version, r.stage = s.secret, s.version, 1
			break
		}
		now := s.time().Add(r.skew)
		r.todo = plan(view{now: now, secret: r.held, hooks: r.hooks, standing: time.Duration(s.now-r.since) * time.Second, mine: r.mine}, simLives)
		r.mine, r.stage = r.todo.serve, 3
		if r.todo.secret == nil && r.todo.bundle == nil {
			r.stage = 0
			r.wake = s.now + 1 + int(r.todo.again/time.Second)
			return
		}
	case 3:
		s.write(r)
		r.stage = 0
	}
	r.wake = s.now + s.lag()
}

func (s *simulation) write(r *simReplica) {
	switch {
	case r.todo.secret != nil && r.version == s.version:
		holds := *r.todo.secret
		if r.todo.fresh != nil {
			s.made++
			holds.next = simPair(s.made, s.time().Add(r.skew))
		}
		s.tell("%s writes Secret %s: %s", r.name, describe(holds), r.todo.why)
		s.putSecret(holds)
	case r.todo.bundle != nil && r.written == s.written:
		s.tell("%s writes bundle %v", r.name, ids(r.todo.bundle))
		s.putConfig(slices.Repeat([][]Authority{r.todo.bundle}, simHooks))
	}
}

func simPair(n int, now time.Time) *Pair {
	end := now.Add(simLife)
	return &Pair{
		Authority: Authority{ID: fmt.Sprint(n), NotAfter: end, Ours: true},
		NotBefore: now.Add(-backdate), NotAfter: end,
		Hosts: simLives.hosts,
	}
}

func (s *simulation) putSecret(c contents) {
	s.past = append(s.past, c)
	s.secret = c
	s.version++
	s.wakeUp()
}

func (s *simulation) putConfig(hooks [][]Authority) {
	s.config = hooks
	s.written++
	for _, server := range s.servers {
		at := s.now + s.rng.IntN(simSettle)
		if n := len(server.news); n > 0 {
			at = max(at, server.news[n-1].at)
		}
		server.news = append(server.news, simNews{at, hooks})
	}
	s.wakeUp()
}

// wakeUp is the watches, one in ten of which tells nothing.
func (s *simulation) wakeUp() {
	for _, r := range s.replicas {
		if r.stage == 0 && s.rng.IntN(10) > 0 {
			r.wake = min(r.wake, s.now+1+s.rng.IntN(5))
		}
	}
}

// restart makes a replica forget all it knew.
func (s *simulation) restart(r *simReplica) {
	s.tell("%s restarts", r.name)
	*r = simReplica{name: r.name, skew: r.skew, wake: s.now + 1 + s.rng.IntN(20)}
}

// broken says which replica some API server does not trust.
func (s *simulation) broken() string {
	for _, r := range s.replicas {
		if r.mine == nil {
			continue
		}
		if !r.mine.NotAfter.After(s.time()) {
			return fmt.Sprintf("%s serves %s, which has expired", r.name, r.mine.Authority.ID)
		}
		for i, server := range s.servers {
			for _, hook := range server.hooks {
				if !has(hook, r.mine.Authority) {
					return fmt.Sprintf("API server %d trusts %v, %s serves %s", i, ids(hook), r.name, r.mine.Authority.ID)
				}
			}
		}
	}
	return ""
}

// serving is how many replicas have a certificate.
func (s *simulation) serving() int {
	n := 0
	for _, r := range s.replicas {
		if r.mine != nil {
			n++
		}
	}
	return n
}

// fail ends a test with the last things that happened.
func (s *simulation) fail(t *testing.T, seed uint64, what string) {
	t.Helper()
	for _, line := range s.told[max(0, len(s.told)-30):] {
		t.Log(line)
	}
	t.Fatalf("seed %d, second %d: %s", seed, s.now, what)
}

func describe(c contents) string {
	id := func(p *Pair) string {
		if p == nil {
			return "-"
		}
		return p.Authority.ID
	}
	return "{" + id(c.current) + ", " + id(c.next) + "}"
}

func ids(bundle []Authority) []string {
	var all []string
	for _, a := range bundle {
		all = append(all, a.ID)
	}
	return all
}
