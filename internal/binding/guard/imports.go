package guard

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// service is what others have registered under a service of the registry.
type service struct {
	name registryclient.Service

	mu     sync.Mutex // held while a list is imported; before Guard.mu and the tree
	listed map[string]registryclient.Instance
	last   []registryclient.Instance // the last list
	held   map[string]claims.Hold    // by endpoint: what is shown although it is not listed
}

func (g *Guard) service(svc registryclient.Service) *service {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.services[svc]
	if s == nil {
		s = &service{name: svc, listed: make(map[string]registryclient.Instance), held: make(map[string]claims.Hold)}
		g.services[svc] = s
	}
	return s
}

// Import brings what the registry lists under a service, beside our own, into the
// book. What it lists no more goes, as far as the cap allows; the rest is held. It
// reports whether the tree has changed. Neither side changes the instances.
func (g *Guard) Import(svc registryclient.Service, list []registryclient.Instance) bool {
	s := g.service(svc)
	s.mu.Lock()
	defer s.mu.Unlock()
	listed := make(map[string]registryclient.Instance, len(list))
	for _, in := range list {
		listed[claims.Endpoint(in)] = in
	}
	var missing []string
	for at := range s.listed {
		if _, ok := listed[at]; !ok {
			missing = append(missing, at)
		}
	}
	for at := range s.held {
		if _, ok := listed[at]; ok {
			delete(s.held, at)
			g.forget(s.key(at), Adopted)
		}
	}
	slices.Sort(missing)
	size := 0
	if len(missing) > 0 && !g.cfg.Off {
		size = g.cfg.Book.Size(svc)
	}
	now := time.Now()
	for _, at := range missing {
		if g.cfg.Off || g.cfg.Book.Local(svc, at) {
			continue // no address goes: a client of ours vouches for it
		}
		if why := g.objection(svc, size, now); why != "" {
			g.hold(s, at, s.listed[at], Reported, why, now)
		} else {
			size--
		}
	}
	g.mu.Lock()
	g.listed += len(listed) - len(s.listed)
	g.mu.Unlock()
	s.listed, s.last = listed, list
	return g.apply(s)
}

// apply imports a service as it stands. s.mu is held.
func (g *Guard) apply(s *service) bool {
	holds := make([]claims.Hold, 0, len(s.held))
	for _, h := range s.held {
		holds = append(holds, h)
	}
	changed := g.cfg.Book.Import(s.name, s.last, holds...)
	if changed && g.cfg.Dir != "" {
		g.mu.Lock()
		g.unwritten[s] = struct{}{}
		g.mu.Unlock()
	}
	return changed
}

// key names an instance of the registry among all that is held.
func (s *service) key(at string) string { return s.name.String() + " " + at }

// objection is why an instance of a service with size of them may not go now
// without evidence; "": it may, and that is noted.
func (g *Guard) objection(svc registryclient.Service, size int, now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.linked.IsZero() && now.Sub(g.linked) < g.cfg.Window {
		return "the registry lists it no more since its link came back"
	}
	return g.takeLocked(svc, size, now)
}

// takeLocked is objection for what has been held for its time.
func (g *Guard) takeLocked(svc registryclient.Service, size int, now time.Time) string {
	taken := recent(g.ledgers[svc], now, g.cfg.Window)
	g.ledgers[svc] = taken
	g.ledger = recent(g.ledger, now, g.cfg.Window)
	peak := size + len(taken)
	limit := max(1, int(g.cfg.Cap*float64(peak)))
	if peak >= 2 {
		limit = min(limit, peak-1)
	}
	if len(taken) >= limit {
		return fmt.Sprintf("the registry lists %d of %d no more, and %d may go at once", len(taken)+1, peak, limit)
	}
	all := g.listed + len(g.ledger)
	if most := max(g.cfg.MassSessions, int(g.cfg.Cap*float64(all))); len(g.ledger) >= most {
		return fmt.Sprintf("the registry lists %d of all %d instances no more, and %d may go at once", len(g.ledger)+1, all, most)
	}
	g.ledgers[svc] = append(taken, now)
	g.ledger = append(g.ledger, now)
	return ""
}

// hold keeps an instance that the registry does not list. s.mu is held.
func (g *Guard) hold(s *service, at string, in registryclient.Instance, class Class, why string, now time.Time) {
	h := claims.Hold{Instance: in, Why: why, Since: now}
	s.held[at] = h
	g.mu.Lock()
	defer g.mu.Unlock()
	it := g.newItem(s.key(at), now)
	it.service, it.at, it.why, it.imports, it.class = s.name, at, why, s, class
	it.protocol = in.Metadata["protocol"]
	g.items[it.key] = it
	if class != fromEarly {
		g.newsLocked(kind(why), it.key)
	}
}

// Link says whether the registry can be reached.
func (g *Guard) Link(up bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !up:
		g.down = true
	case g.down:
		g.down, g.linked = false, time.Now()
	}
}

// kind is a reason without its numbers, under which the log sums up.
func kind(why string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, why)
}

func (g *Guard) newsLocked(kind, example string) {
	n := g.news[kind]
	if n == nil {
		n = &news{example: example}
		g.news[kind] = n
	}
	n.count++
}

// tell logs what has been held since it was last called, a line a reason.
func (g *Guard) tell() {
	g.mu.Lock()
	list := g.news
	g.news = make(map[string]*news)
	g.mu.Unlock()
	for _, n := range list {
		g.mu.Lock()
		why := ""
		if it := g.items[n.example]; it != nil {
			why = it.why
		}
		g.mu.Unlock()
		g.log.Warn("addresses are held: shown and published although nobody vouches for them", "count", n.count, "why", why, "example", n.example,
			"until", "they are claimed anew, refuse two probes, or their time is over; see: zkbridge held list")
	}
}
