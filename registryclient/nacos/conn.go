package nacos

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	rc "zkbridge/registryclient"
)

// conn is a place in the pool: what one connection is to hold, and the
// session that holds it at present.
type conn struct {
	// set at construction
	c     *Client
	index int
	wake  chan struct{} // holds one token when there is something to do

	// owned by run
	at int // index of the server to try next

	// guarded by Client.mu
	session   *session // nil: not connected
	ready     bool     // everything stands on session
	counts    bool     // it has been ready once, so that its loss is a loss of the link
	reason    string   // why it is not ready
	namespace string   // of all its services: pushes do not say it; "" as long as there are none
	parts     map[rc.Service]*part
	subs      map[rc.Service]*subscription
	instances int // of parts
	bytes     int
}

func newConn(c *Client, index int) *conn {
	return &conn{
		c: c, index: index, wake: make(chan struct{}, 1), at: c.first + index, reason: "not connected yet",
		parts: make(map[rc.Service]*part), subs: make(map[rc.Service]*subscription),
	}
}

// nudge makes run look for what does not stand.
func (k *conn) nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run keeps a session and everything on it until ctx ends.
func (k *conn) run(ctx context.Context) {
	c := k.c
	var s *session
	failures := 0
	for ctx.Err() == nil {
		if s == nil {
			to := c.servers[k.at%len(c.servers)]
			var err error
			if s, err = c.connect(ctx, to, moduleNaming, "", k.pushed); err != nil {
				c.counters.connectFailures.Add(1)
				k.down(err)
				k.at++
				if failures++; failures < len(c.servers) {
					continue // somebody may be there
				}
				pause(ctx, c.backoff(failures-len(c.servers)))
				continue
			}
			c.counters.connects.Add(1)
		}
		next := k.serve(ctx, s)
		if s.why() != nil && !errors.Is(s.why(), errGone) {
			c.counters.losses.Add(1)
			if time.Since(s.born) < c.cfg.ReconnectMax {
				failures++ // a server that takes us and throws us out is not asked for ever without pause
				pause(ctx, c.backoff(failures))
			} else {
				failures = 0
			}
			k.at++
		}
		s = next
	}
}

// pause lets d pass, less if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// down notes that there is no session, and why.
func (k *conn) down(why error) {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	was := k.session != nil
	k.session, k.ready, k.reason = nil, false, why.Error()
	c.linkLocked()
	if was && !errors.Is(why, errGone) {
		c.log.Warn("connection to Nacos lost", "connection", k.index, "err", why)
	}
}

// adopt makes s the session of k.
func (k *conn) adopt(s *session) {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	k.session, k.ready, k.reason = s, false, "what was published is being published again"
	k.unsettleLocked()
}

// unsettleLocked says that the server that is asked from now on may know less
// than the one before.
func (k *conn) unsettleLocked() {
	c := k.c
	until := time.Now().Add(c.cfg.Settle)
	for _, f := range k.subs {
		f.unsettleLocked(until)
	}
	if k.index == 0 {
		for _, l := range c.groups {
			l.unsettleLocked(until)
		}
	}
}

// serve keeps everything on s until s ends, and then gives nil, or until the
// server has sent us elsewhere: then the session there, which has everything already.
func (k *conn) serve(ctx context.Context, s *session) (next *session) {
	c := k.c
	k.adopt(s)
	var checking sync.WaitGroup
	checking.Go(func() { s.check(ctx, c.cfg.HealthInterval, c.cfg.HealthTimeout) })
	defer checking.Wait()
	defer func() { s.close(errGone) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		again := k.sync(ctx, s)
		k.settled(s)
		var due <-chan time.Time
		if !again.IsZero() {
			timer.Reset(time.Until(again))
			due = timer.C
		}
		select {
		case <-k.wake:
		case <-due:
		case to := <-s.reset:
			c.counters.resets.Add(1)
			if next = k.move(ctx, to); next != nil {
				return next
			}
		case <-s.done:
			k.down(s.why())
			return nil
		case <-ctx.Done():
			k.down(errGone)
			return nil
		}
	}
}

// move makes a session where the server wants us to be, or with the next server,
// and everything on it, before the present one is given up. nil: nobody is there.
func (k *conn) move(ctx context.Context, to string) *session {
	c := k.c
	candidates := make([]server, 0, 2)
	if to != "" {
		candidates = append(candidates, c.serverAt(to))
	}
	candidates = append(candidates, c.servers[(k.at+1)%len(c.servers)])
	for _, target := range candidates {
		s, err := c.connect(ctx, target, moduleNaming, "", k.pushed)
		if err != nil {
			c.counters.connectFailures.Add(1)
			c.log.Warn("Nacos asked for a move to a server that does not take us", "server", target.grpc, "err", err)
			continue
		}
		c.counters.connects.Add(1)
		c.log.Info("moving to another Nacos server, as asked", "connection", k.index, "server", target.grpc)
		c.mu.Lock()
		k.unsettleLocked()
		c.mu.Unlock()
		k.redo(ctx, s)
		k.at++
		return s
	}
	return nil
}

// serverAt gives the server whose main port is at address, known or not.
func (c *Client) serverAt(address string) server {
	s, err := c.cfg.server(address)
	if err != nil {
		return c.servers[0]
	}
	for _, known := range c.servers {
		if known.grpc == s.grpc {
			return known
		}
	}
	if host, _, err := net.SplitHostPort(s.grpc); err == nil && host != "" {
		return s
	}
	return c.servers[0]
}

// sync makes everything stand on s that does not yet, as far as that works now.
// It gives the time of the next retry, zero if there is none.
func (k *conn) sync(ctx context.Context, s *session) (again time.Time) {
	k.redo(ctx, s)
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	ready := true
	earlier := func(t time.Time) {
		if !t.IsZero() && (again.IsZero() || t.Before(again)) {
			again = t
		}
	}
	for _, p := range k.parts {
		if p.lacksLocked(s) {
			ready = ready && p.refusal != ""
			earlier(p.retryAt)
		}
	}
	for _, f := range k.subs {
		if f.on != s.id && f.refs > 0 || f.on == s.id && f.refs == 0 {
			earlier(f.retryAt)
		}
		earlier(f.settle)
	}
	if ready && !k.ready && s.alive() {
		k.ready, k.counts = true, true
		c.log.Info("connected to Nacos", "connection", k.index, "server", s.server.grpc,
			"services", len(k.parts), "instances", k.instances, "subscriptions", len(k.subs))
		c.linkLocked()
	}
	return again
}

// redo brings to s what does not stand on it: registrations, then subscriptions,
// many at a time.
func (k *conn) redo(ctx context.Context, s *session) {
	c := k.c
	now := time.Now()
	c.mu.Lock()
	var registrations, subscriptions []func()
	for _, p := range k.parts {
		if p.lacksLocked(s) && !p.retryAt.After(now) {
			registrations = append(registrations, func() { p.redo(ctx, s) })
		}
	}
	for _, f := range k.subs {
		if (f.refs == 0 || f.on != s.id) && !f.retryAt.After(now) {
			subscriptions = append(subscriptions, func() { f.sync(ctx, s) })
		}
	}
	c.mu.Unlock()
	for _, jobs := range [][]func(){registrations, subscriptions} {
		c.pipeline(s, jobs)
	}
}

// pipeline runs jobs, InFlight at a time, until all are done or s has ended.
func (c *Client) pipeline(s *session, jobs []func()) {
	var running sync.WaitGroup
	slots := make(chan struct{}, max(1, c.cfg.InFlight))
	for _, job := range jobs {
		select {
		case slots <- struct{}{}:
		case <-s.done:
		}
		if !s.alive() {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			job()
		})
	}
	running.Wait()
}

// settled asks once more for the lists whose time to settle is over, and then
// believes them.
func (k *conn) settled(s *session) {
	c := k.c
	now := time.Now()
	c.mu.Lock()
	var jobs []func()
	for _, f := range k.subs {
		if !f.settle.IsZero() && !f.settle.After(now) && f.on == s.id {
			jobs = append(jobs, func() { f.confirm(s) })
		}
	}
	c.mu.Unlock()
	c.pipeline(s, jobs)
}

// pushed takes what the server sends by itself.
func (k *conn) pushed(s *session, kind string, m *push, body []byte) {
	c := k.c
	switch kind {
	case "NotifySubscriberRequest":
		c.counters.pushes.Add(1)
		c.mu.Lock()
		f := k.subs[rc.Service{Namespace: k.namespace, Group: m.ServiceInfo.GroupName, Name: m.ServiceInfo.Name}]
		c.mu.Unlock()
		if f != nil {
			f.pushed(s, body)
		}
	case "NamingFuzzyWatchChangeNotifyRequest", "NamingFuzzyWatchSyncRequest":
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, l := range c.groups {
			l.look()
		}
	}
}

// room gives a connection of the namespace that takes n more instances of that
// many bytes, or that many more subscriptions, and does not hold s yet. There
// is one more of them if all are full.
func (c *Client) roomLocked(s rc.Service, n, bytes, subscriptions int) *conn {
	for _, k := range c.conns {
		if k.namespace != "" && k.namespace != s.Namespace {
			continue
		}
		if n > 0 {
			if k.parts[s] != nil || k.instances > 0 && (k.instances+n > c.cfg.InstancesPerConnection || k.bytes+bytes > c.cfg.BytesPerConnection) {
				continue
			}
		}
		if subscriptions > 0 && len(k.subs)+subscriptions > c.cfg.SubscriptionsPerConnection {
			continue
		}
		k.namespace = s.Namespace
		return k
	}
	k := newConn(c, len(c.conns))
	k.namespace = s.Namespace
	c.conns = append(c.conns, k)
	c.goLocked(k.run)
	return k
}
