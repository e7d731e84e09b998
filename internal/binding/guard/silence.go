package guard

import (
	"context"
	"fmt"
	"slices"
	"time"

	"zkbridge/registryclient"
)

// extension is a deadline that was extended, because of what we suspect.
type extension struct {
	at  time.Time
	why string
}

// touched is how long after an extension the session table may note it as a sign
// of life.
const touched = 500 * time.Millisecond

// census is a count of the sessions with addresses.
type census struct {
	at            time.Time
	silent, total int
}

// recount is for how long a census holds.
const recount = 100 * time.Millisecond

// beatLocked notes that we run. A beat that is late was a stall.
func (g *Guard) beatLocked(now time.Time) {
	if late := now.Sub(g.beat); late > heartbeat+stallFrom {
		g.stallEnd, g.stallFor = now, late
		g.stalls.Add(1)
		g.log.Warn("the bridge stood still: no session is ended before it had its whole timeout again", "for", late.Round(time.Millisecond))
	}
	g.beat = now
}

// Over is asked whether a session that was silent for its timeout is over. It is
// not, once, if it is likelier that we do not hear than that it does not speak.
// It never returns an error.
func (g *Guard) Over(_ context.Context, s Session) (bool, error) {
	if g.cfg.Off {
		return true, nil
	}
	id, seen := s.ID(), s.LastSeen()
	services := g.cfg.Book.Vouching(id)
	why := g.suspicion(services)
	now := time.Now()

	g.mu.Lock()
	defer g.mu.Unlock()
	g.beatLocked(now)
	if e, ok := g.extended[id]; ok && !seen.After(e.at.Add(touched)) {
		delete(g.extended, id)
		if why == "" && len(services) > 0 {
			why = e.why
		}
		if why != "" {
			g.ending[id] = why
		} else {
			g.passLocked(id, seen, services, now)
		}
		return true, nil
	}
	if why == "" && !seen.Before(g.stallEnd) {
		g.passLocked(id, seen, services, now)
		return true, nil
	}
	if why != "" {
		if now.Sub(g.suspected) >= g.cfg.Window {
			g.massSilences++
		}
		g.suspected = now
	}
	g.extended[id] = extension{at: now, why: why} // of a stall alone nothing is held
	g.extensions.Add(1)
	return false, nil
}

// passLocked notes that a session is over and its addresses go with it.
func (g *Guard) passLocked(id int64, seen time.Time, services []registryclient.Service, now time.Time) {
	delete(g.extended, id)
	if len(services) == 0 {
		return
	}
	for _, svc := range services {
		g.gone[svc] = append(recent(g.gone[svc], now, g.cfg.Window), now)
	}
	g.goneAll = append(recent(g.goneAll, now, g.cfg.Window), now)
	g.passed[id] = seen
	if c := &g.silence; c.silent > 0 { // it was one of those counted
		c.silent--
		c.total--
	}
}

// recent drops what is older than a window.
func recent(list []time.Time, now time.Time, window time.Duration) []time.Time {
	i := 0
	for i < len(list) && now.Sub(list[i]) >= window {
		i++
	}
	return slices.Delete(list, 0, i)
}

// suspicion is why the silence of a session with addresses in services is
// likelier ours; "" if nothing speaks for that.
func (g *Guard) suspicion(services []registryclient.Service) string {
	if len(services) == 0 {
		return ""
	}
	c := g.silentProviders()
	now := time.Now()
	g.mu.Lock()
	g.goneAll = recent(g.goneAll, now, g.cfg.Window)
	silent, total := c.silent+len(g.goneAll), c.total+len(g.goneAll)
	g.mu.Unlock()
	if silent >= g.cfg.MassSessions && float64(silent) >= g.cfg.MassShare*float64(total) {
		return fmt.Sprintf("%d of %d sessions with addresses were silent at once", silent, total)
	}
	for _, svc := range services {
		if why := g.suspicionOf(svc, g.cfg.Book.Owners(svc), now); why != "" {
			return why
		}
	}
	return ""
}

// suspicionOf is suspicion because of the other owners of a service.
func (g *Guard) suspicionOf(svc registryclient.Service, owners []int64, now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone[svc] = recent(g.gone[svc], now, g.cfg.Window)
	silent := len(g.gone[svc])
	if silent == 0 {
		delete(g.gone, svc)
	}
	all := silent
	for _, id := range owners {
		s := g.cfg.Session(id)
		if g.overLocked(s) {
			continue // it is one of those that are gone
		}
		all++
		if g.silentLocked(s, now) {
			silent++
		}
	}
	if all >= 2 && silent*2 > all {
		return fmt.Sprintf("%d of %d sessions of %s were silent at once", silent, all, svc.Name)
	}
	return ""
}

// overLocked reports whether a session has ended, or was said to be over and has
// not been heard from since.
func (g *Guard) overLocked(s Session) bool {
	if s == nil {
		return true
	}
	seen, over := g.passed[s.ID()]
	return over && s.LastSeen().Equal(seen)
}

// silentLocked reports whether a session has missed its ping: clients send one
// every third of the timeout, so who was cut off together with one that is due is
// seen to be so by now.
func (g *Guard) silentLocked(s Session, now time.Time) bool {
	seen := s.LastSeen()
	if e, ok := g.extended[s.ID()]; ok && !seen.After(e.at.Add(touched)) {
		return true
	}
	return now.Sub(seen) > s.Timeout()/2
}

// silentProviders counts the sessions with addresses, unless it has just done so.
func (g *Guard) silentProviders() census {
	now := time.Now()
	g.mu.Lock()
	c := g.silence
	g.mu.Unlock()
	if !c.at.IsZero() && now.Sub(c.at) < recount {
		return c
	}
	providers := g.cfg.Book.Providers()
	c = census{at: now}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range providers {
		s := g.cfg.Session(id)
		if g.overLocked(s) {
			continue
		}
		c.total++
		if g.silentLocked(s, now) {
			c.silent++
		}
	}
	g.silence = c
	return c
}

// Suspect has the addresses of a session held when it ends: it has to end, but it
// is not known that it should.
func (g *Guard) Suspect(id int64, why string) {
	if g.cfg.Off {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ending[id] = why
}

// Ending gives what says of each node of a session that ends why it is held; nil:
// nothing of it is. What it gives is called under the tree's lock.
func (g *Guard) Ending(id int64) func(path string) (why string) {
	g.mu.Lock()
	why := g.ending[id]
	delete(g.ending, id)
	delete(g.extended, id)
	g.mu.Unlock()
	if why == "" {
		return nil
	}
	return func(path string) string {
		if g.cfg.Book.Vouched(path) {
			return why
		}
		return ""
	}
}

// Ended forgets a session.
func (g *Guard) Ended(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.extended, id)
	delete(g.ending, id)
	delete(g.passed, id)
}
