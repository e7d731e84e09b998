package guard

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
	"zkbridge/translate"
)

// service is what others have registered under a service of the registry.
type service struct {
	name registryclient.Service

	mu     sync.Mutex                // held while a list is imported; before Guard.mu and the tree
	last   []registryclient.Instance // the last list
	listed map[string]int            // by endpoint: the place in it
	held   map[string]claims.Hold    // by endpoint: what is shown although it is not listed
}

// publisherOf is the cluster of bridges that an instance comes from.
func publisherOf(in registryclient.Instance) string {
	m, _ := translate.ParseMarker(in.Metadata)
	return m.Cluster
}

func (g *Guard) service(svc registryclient.Service) *service {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.services[svc]
	if s == nil {
		s = &service{name: svc, listed: make(map[string]int), held: make(map[string]claims.Hold)}
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
	listed := make(map[string]int, len(list))
	for n := range list {
		listed[claims.Endpoint(list[n])] = n
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
			g.relisted(s.key(at), Adopted)
		} else if g.cfg.Off { // it was shown from before the start, until now
			delete(s.held, at)
			g.relisted(s.key(at), Word)
		}
	}
	g.relist(s, list, listed)
	slices.Sort(missing)
	size, local := 0, map[string]bool(nil)
	if len(missing) > 0 && !g.cfg.Off {
		size, local = g.cfg.Book.Size(svc), g.cfg.Book.Local(svc)
	}
	now := time.Now()
	for _, at := range missing {
		if g.cfg.Off || local[at] {
			continue // no address goes: a client of ours vouches for it
		}
		old := s.last[s.listed[at]]
		if v := g.judge(svc, at, publisherOf(old), size, now); v.class != 0 {
			g.hold(s, at, old, v, now)
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

// relist notes who published what is listed, and what of it is back. s.mu is held.
func (g *Guard) relist(s *service, list []registryclient.Instance, listed map[string]int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range s.listed {
		g.publishedLocked(publisherOf(s.last[n]), -1)
	}
	for _, n := range listed {
		g.publishedLocked(publisherOf(list[n]), 1)
	}
	for at := range g.ledgers[s.name] {
		if _, ok := listed[at]; ok { // it is back
			delete(g.ledgers[s.name], at)
		}
	}
}

func (g *Guard) publishedLocked(publisher string, n int) {
	if publisher == "" {
		return
	}
	if g.published[publisher] += n; g.published[publisher] == 0 {
		delete(g.published, publisher)
	}
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

// verdict is what becomes of an address that somebody takes back: zero, it goes.
type verdict struct {
	class Class
	why   string
	// open says that it is judged again after settle, when all has been heard that
	// happened at the same time.
	open bool
	// objected says that it is one of Guard.objections.
	objected bool
}

// settle is how long the registry's word waits where the rest of the registry
// decides what it means: of the last address of a service, and of what another
// bridge published.
const settle = time.Second

// judge says what becomes of an instance that the registry lists no more, of a
// service with size of them. That it goes without evidence is noted.
func (g *Guard) judge(svc registryclient.Service, at, publisher string, size int, now time.Time) verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	if why := g.unlinkedLocked(now); why != "" {
		return verdict{class: LinkLost, why: why}
	}
	v := verdict{class: Reported, open: true}
	switch last := size+len(g.takenLocked(svc, now)) <= 1; {
	case last:
		v.why, v.objected = "the registry lists the last address of its service no more; whether others go with it is not known yet", true
	case publisher != "":
		v.why = "the registry lists it no more; whether all of its bridge is gone is not known yet"
	default:
		v.open = false
		if v.why = g.takeLocked(svc, at, size, g.listed, now); v.why == "" {
			return verdict{}
		}
		v.objected = true
	}
	if v.objected {
		g.objections = append(recent(g.objections, now, g.cfg.Window+settle), now)
	}
	return v
}

// judgeAgainLocked is judge after settle; it may go then.
func (g *Guard) judgeAgainLocked(it *item, size int, now time.Time) verdict {
	if why := g.unlinkedLocked(now); why != "" {
		return verdict{class: LinkLost, why: why}
	}
	if it.publisher != "" {
		g.lost[it.publisher] = recent(g.lost[it.publisher], now, g.cfg.Window)
		lost := len(g.lost[it.publisher])
		for _, other := range g.items {
			if other.publisher == it.publisher {
				lost++
			}
		}
		if all := g.published[it.publisher] + lost; lost*2 > all {
			return verdict{class: PeerLost, why: fmt.Sprintf("the registry lists %d of the %d addresses that one bridge published no more", lost, all)}
		}
	}
	if size+len(g.takenLocked(it.service, now)) <= 1 {
		g.objections = recent(g.objections, now, g.cfg.Window+settle)
		others := len(g.objections)
		if it.objected {
			others-- // itself
		}
		if others > 0 {
			return verdict{class: Reported, why: fmt.Sprintf("the registry lists the last address of its service no more, and %d others within %v", others, g.cfg.Window)}
		}
	}
	if why := g.takeLocked(it.service, it.at, size, g.listed+len(g.items), now); why != "" {
		return verdict{class: Reported, why: why}
	}
	if it.publisher != "" {
		g.lost[it.publisher] = append(g.lost[it.publisher], now)
	}
	return verdict{}
}

// unlinkedLocked is why what the registry says now counts for nothing: it is not
// there, or may not have heard from everybody yet.
func (g *Guard) unlinkedLocked(now time.Time) string {
	switch {
	case g.down:
		return "the link to the registry is lost"
	case !g.linked.IsZero() && now.Sub(g.linked) < g.cfg.Window:
		return "the registry lists it no more since its link came back"
	}
	return ""
}

// takenLocked is what has gone of a service without evidence within the window,
// and is not back.
func (g *Guard) takenLocked(svc registryclient.Service, now time.Time) map[string]time.Time {
	taken := g.ledgers[svc]
	for at, when := range taken {
		if now.Sub(when) >= g.cfg.Window {
			delete(taken, at)
		}
	}
	if len(taken) == 0 {
		delete(g.ledgers, svc)
		return nil
	}
	return taken
}

// takeLocked is why an address of a service with size of them, out of all that
// there are, may not go now without evidence; "": it may, and that is noted.
func (g *Guard) takeLocked(svc registryclient.Service, at string, size, all int, now time.Time) string {
	taken := g.takenLocked(svc, now)
	peak := size + len(taken)
	g.lasts = recent(g.lasts, now, g.cfg.Window)
	g.ledger = recent(g.ledger, now, g.cfg.Window)
	last := peak <= 1
	if last {
		if len(g.lasts) > 0 {
			return fmt.Sprintf("it is the last address of its service, and one service in %v may lose its last without evidence", g.cfg.Window)
		}
	} else if limit := min(max(1, int(g.cfg.Cap*float64(peak))), peak-1); len(taken) >= limit {
		return fmt.Sprintf("the registry lists %d of %d no more, and %d may go at once", len(taken)+1, peak, limit)
	}
	all += len(g.ledger)
	if most := max(g.cfg.MassSessions, int(g.cfg.Cap*float64(all))); len(g.ledger) >= most {
		return fmt.Sprintf("the registry lists %d of all %d instances no more, and %d may go at once", len(g.ledger)+1, all, most)
	}
	if last {
		g.lasts = append(g.lasts, now)
	}
	if taken == nil {
		taken = make(map[string]time.Time)
		g.ledgers[svc] = taken
	}
	taken[at] = now
	g.ledger = append(g.ledger, now)
	return ""
}

// hold keeps an instance that the registry does not list. s.mu is held.
func (g *Guard) hold(s *service, at string, in registryclient.Instance, v verdict, now time.Time) {
	s.held[at] = claims.Hold{Instance: in, Why: v.why, Since: now}
	g.mu.Lock()
	defer g.mu.Unlock()
	it := g.newItem(s.key(at), now)
	it.service, it.at, it.why, it.imports, it.class, it.open, it.objected = s.name, at, v.why, s, v.class, v.open, v.objected
	it.protocol, it.publisher = in.Metadata["protocol"], publisherOf(in)
	g.items[it.key] = it
	if v.class != fromEarly && !v.open {
		g.newsLocked(v.why, it.key)
	}
}

// reopen judges the items again that were waiting for what else happens.
func (g *Guard) reopen(list []*item, now time.Time) {
	for _, it := range list {
		size := g.cfg.Book.Size(it.service)
		g.mu.Lock()
		if g.items[it.key] != it || !it.open {
			g.mu.Unlock()
			continue
		}
		v := g.judgeAgainLocked(it, size, now)
		it.open = false
		if v.class != 0 {
			it.class, it.why = v.class, v.why
			g.newsLocked(v.why, it.key)
		}
		g.mu.Unlock()
		if v.class == 0 {
			g.end(it, Word)
		} else {
			g.retell(it, v.why)
		}
	}
}

// retell gives what is held of the registry another reason.
func (g *Guard) retell(it *item, why string) {
	s := it.imports
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.held[it.at]; ok {
		h.Why = why
		s.held[it.at] = h
		g.apply(s)
	}
}

// Link says whether the registry can be reached.
func (g *Guard) Link(up bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if up && g.down && g.met { // not at the start: what was known before that is held for itself
		g.linked = time.Now()
	}
	g.down, g.met = !up, g.met || up
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

// newsLocked notes a hold for the log, under its reason without the numbers.
func (g *Guard) newsLocked(why, example string) {
	k := kind(why)
	n := g.news[k]
	if n == nil {
		n = &news{}
		g.news[k] = n
	}
	n.why, n.example = why, example
	n.count++
}

// tell logs what has been held since it was last called, a line a reason.
func (g *Guard) tell() {
	g.mu.Lock()
	list := g.news
	g.news = make(map[string]*news)
	g.mu.Unlock()
	for _, n := range list {
		g.log.Warn("addresses are held: shown and published although nobody vouches for them", "count", n.count, "why", n.why, "example", n.example,
			"until", "they are claimed anew, refuse two probes, or their time is over; see: zkbridge held list")
	}
}
