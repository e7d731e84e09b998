package server

import (
	"context"
	"time"
)

// gateStep is how often the server looks for clients that wait for the disk.
const gateStep = time.Second

// keepGates closes connections that have waited for the disk for a third of their
// session's timeout, until ctx ends: what they did may yet stand, so ConnectionLoss
// is the truth, and their pings have no answer until then. Their sessions stay.
func (s *Server) keepGates(ctx context.Context) {
	tick := time.NewTicker(gateStep)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if s.cfg.Tree.Behind() {
			s.closeGated()
		}
	}
}

func (s *Server) closeGated() {
	now := time.Now()
	for _, c := range s.connections() {
		session := c.carried.Load()
		if session == nil || !c.out.gatedFor(now, session.Timeout()/3) {
			continue
		}
		s.log.Warn("a change could not be made durable in time: its connection is closed, the session stays",
			"peer", c.String(), "session", c.sessionName(), "disk", s.cfg.Tree.Trouble())
		s.rejected(RejectedNotDurable)
		c.shut()
	}
}

// gatedFor reports whether the outbox has waited for the log for so long.
func (o *outbox) gatedFor(now time.Time, limit time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waiting && now.Sub(o.since) >= limit
}
