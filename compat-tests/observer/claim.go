package observer

import (
	"fmt"
	"time"
)

// claim is one registration, as its own client knows it.
type claim struct {
	side     Side // where it was registered
	service  string
	address  string
	name     string // of its znode
	session  int64
	asked    time.Time // when the client asked for it
	from     time.Time // when it was told: from then on it is alive for certain
	certain  time.Time // until then it is alive for certain
	possible time.Time // after that it is dead for certain
	deleted  bool      // by a client
}

func (c claim) String() string {
	return fmt.Sprintf("registered at %s, alive until %s", c.from.Format("15:04:05.000"), c.certain.Format("15:04:05.000"))
}

// forever is later than any history.
var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// claimsOf reads the registrations out of a history in order of time.
func claimsOf(events []Event, limits Limits) []claim {
	sessions := sessionsOf(events, limits)
	var claims []claim
	for n, e := range events {
		switch e.Kind {
		case Created:
			c := claim{side: ZooKeeperSide, service: e.Service, address: e.Address, name: e.Name, session: e.Session, asked: e.Asked, from: e.At}
			c.certain, c.possible = forever, forever
			if s := sessions[e.Session]; s != nil {
				c.certain, c.possible = s.certain, s.possible
			}
			c.end(events[n+1:])
			claims = append(claims, c)
		case NativeUp:
			c := claim{side: RegistrySide, service: e.Service, address: e.Address, asked: e.Asked, from: e.At}
			c.certain, c.possible = e.Asked.Add(e.Timeout), e.At.Add(e.Timeout)
			c.end(events[n+1:])
			claims = append(claims, c)
		}
	}
	return claims
}

// end finds what ends a claim before its session does.
func (c *claim) end(later []Event) {
	for _, e := range later {
		if e.Address != c.address {
			continue
		}
		switch {
		case e.Kind == ProcessEnded:
			c.certain = earlier(c.certain, e.At)
		case e.Service != c.service:
		case e.Kind == Deleted && c.side == ZooKeeperSide && e.Name == c.name,
			e.Kind == NativeDown && c.side == RegistrySide:
			c.certain = earlier(c.certain, e.Asked)
			if e.At.Before(c.possible) {
				c.possible, c.deleted = e.At, true
			}
			return
		case e.Kind == Created && c.side == ZooKeeperSide && e.Name == c.name:
			// The same node again: this one was gone, however that came.
			c.certain = earlier(c.certain, e.Asked)
			c.possible = earlier(c.possible, e.At)
			return
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// session is the life of a client's session.
type session struct {
	timeout  time.Duration
	opened   time.Time // or resumed
	heard    time.Time
	over     bool // it was closed, or its client was told that it is over
	certain  time.Time
	possible time.Time
}

// sessionsOf follows every session through a history in order of time.
func sessionsOf(events []Event, limits Limits) map[int64]*session {
	sessions := map[int64]*session{}
	var downs, ups []time.Time
	for _, e := range events {
		s := sessions[e.Session]
		switch e.Kind {
		case ServerDown:
			downs = append(downs, e.At)
		case ServerUp:
			ups = append(ups, e.At)
		case SessionOpened:
			if s == nil {
				s = &session{}
				sessions[e.Session] = s
			}
			s.timeout, s.opened, s.heard = e.Timeout, e.At, e.At
		case SessionHeard:
			if s != nil && !s.over {
				s.heard = e.At
			}
		case SessionClosed:
			if s != nil && !s.over {
				s.over, s.certain, s.possible = true, e.At, e.At.Add(limits.Linger)
			}
		case SessionExpired:
			if s != nil && !s.over {
				s.over, s.possible = true, e.At
				// It may have been lost when it had been silent for its time-out, or with
				// a server that was taken away.
				s.certain = earlier(e.At, s.heard.Add(s.timeout))
				for _, down := range downs {
					if down.After(s.opened) {
						s.certain = earlier(s.certain, down)
					}
				}
			}
		}
	}
	for _, s := range sessions {
		if s.over {
			continue
		}
		s.certain = s.heard.Add(s.timeout)
		s.possible = s.certain.Add(limits.Expiry)
		for _, up := range ups { // a server that comes back gives every session its whole time
			if again := up.Add(s.timeout + limits.Expiry); up.After(s.heard) && again.After(s.possible) {
				s.possible = again
			}
		}
	}
	return sessions
}
