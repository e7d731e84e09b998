package nacos

import (
	"context"
	"slices"
	"time"

	rc "zkbridge/registryclient"
)

// settled is how long after a change a server may still answer with the state
// before it, over all its delays.
const serverDelay = 3 * time.Second

// verify compares, one after another and over and over again, each service with
// what a server says of it: what was published may be lost in a restart of the
// cluster, and a push may never come. What differs and stays different is published
// or subscribed again.
func (c *Client) verify(ctx context.Context) {
	for ctx.Err() == nil {
		c.mu.Lock()
		services := c.servicesLocked()
		for s := range c.followed {
			if r := c.published[s]; r == nil || len(r.accepted) == 0 {
				services = append(services, s)
			}
		}
		c.mu.Unlock()
		step := c.cfg.VerifyInterval / time.Duration(max(1, len(services)))
		if len(services) == 0 {
			pause(ctx, step)
			continue
		}
		for _, s := range services {
			pause(ctx, step)
			if ctx.Err() != nil {
				return
			}
			c.verifyService(ctx, s)
		}
	}
}

func (c *Client) verifyService(ctx context.Context, svc rc.Service) {
	differs, s := c.differs(ctx, svc)
	if !differs {
		return
	}
	pause(ctx, serverDelay) // it may only be late
	if ctx.Err() != nil || !s.alive() {
		return
	}
	if differs, s = c.differs(ctx, svc); differs {
		c.mend(svc, s)
	}
}

// differs tells whether a server says something else about svc than we know, and
// whose session it was asked on.
func (c *Client) differs(ctx context.Context, svc rc.Service) (bool, *session) {
	c.mu.Lock()
	k := c.holderLocked(svc)
	if k == nil || !k.ready || time.Since(k.session.born) < serverDelay {
		c.mu.Unlock()
		return false, nil
	}
	s := k.session
	c.mu.Unlock()
	a, err := s.call(ctx, "ServiceQueryRequest", serviceQueryRequest{serviceFields: fieldsOf(svc)})
	if err != nil || a.ServiceInfo == nil {
		return false, nil
	}
	a.ServiceInfo.sort()
	c.counters.verified.Add(1)

	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.published[svc]; r != nil {
		r.missing = nil
		if len(r.accepted) > 0 && time.Since(r.changed) >= serverDelay {
			r.missing = missing(r.accepted, a.ServiceInfo.Hosts)
		}
		if r.missing != nil {
			return time.Now().After(r.mendAt), s
		}
		r.mends, r.mendAt = 0, time.Time{}
	}
	f := c.followed[svc]
	if f == nil || f.on != s.id || !f.settle.IsZero() || a.ServiceInfo.LastRefTime < f.listedAt {
		return false, s
	}
	return !slices.EqualFunc(a.ServiceInfo.Hosts, f.listed, func(a instance, b rc.Instance) bool { return a.instance().Equal(b) }), s
}

// holderLocked gives the connection on which a server is asked about svc.
func (c *Client) holderLocked(svc rc.Service) *conn {
	if f := c.followed[svc]; f != nil {
		return f.conn
	}
	if r := c.published[svc]; r != nil && len(r.parts) > 0 {
		return r.parts[0].conn
	}
	return nil
}

// missing gives the addresses of what we published that hosts does not have.
// Disabled instances are never listed.
func missing(published []rc.Instance, hosts []instance) map[string]bool {
	listed := make(map[string]bool, len(hosts))
	for _, h := range hosts {
		listed[h.instance().Address()] = true
	}
	var gone map[string]bool
	for _, i := range published {
		if at := i.Address(); i.Enabled && !listed[at] {
			if gone == nil {
				gone = make(map[string]bool)
			}
			gone[at] = true
		}
	}
	return gone
}

// mend publishes or subscribes again what differs. What does not help is not
// repeated each time: an operator may have switched an instance off.
func (c *Client) mend(svc rc.Service, s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.published[svc]; r != nil && r.missing != nil {
		for _, p := range r.parts {
			if slices.ContainsFunc(p.accepted, func(i rc.Instance) bool { return r.missing[i.Address()] }) {
				p.on, p.retryAt = 0, time.Time{}
				p.conn.nudge()
			}
		}
		c.counters.mended.Add(1)
		c.log.Warn("Nacos does not list what it has accepted; it is published again", "service", svc.String(), "missing", len(r.missing), "of", len(r.accepted))
		r.mends++
		r.mendAt = time.Now().Add(min(c.cfg.VerifyInterval<<min(r.mends, 6), time.Hour))
		return
	}
	if f := c.followed[svc]; f != nil && f.on == s.id {
		c.counters.mended.Add(1)
		c.log.Warn("Nacos has another list than it has sent; it is subscribed again", "service", svc.String())
		f.on, f.retryAt = 0, time.Time{}
		f.conn.nudge()
	}
}
