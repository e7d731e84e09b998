package nacos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	rc "zkbridge/registryclient"
)

// record is what we publish under one service.
type record struct {
	// set at construction
	c       *Client
	service rc.Service
	turn    chan struct{} // holds one token: who has it sends something about this service

	// guarded by Client.mu
	generation uint64   // of accepted
	waiting    []uint64 // generations of the calls that wait for their turn
	accepted   []rc.Instance
	changed    time.Time // when accepted became so
	parts      []*part
	missing    map[string]bool // addresses that the server did not list when it was asked last
	mends      int             // how often in a row it was mended in vain
	mendAt     time.Time       // not before
}

// part is the piece of a record that lies on one connection.
type part struct {
	// set at construction
	record *record
	conn   *conn

	// guarded by Client.mu; written by who has the record's turn
	accepted []rc.Instance // what is to stand there
	on       uint64        // id of the session on which it does; 0: none, or not known
	sent     uint64        // id of the session on which something was sent last
	retryAt  time.Time     // when to try again to make it stand
	attempts int           // in a row that failed
	refusal  string        // why the server does not take any more what it once took
	held     int           // instances counted in conn
	bytes    int           // the same in bytes
}

// Publish implements registryclient.Publisher. A call that waits while a newer
// one of its service waits too is answered with ErrStale: the newest wins.
func (c *Client) Publish(ctx context.Context, p rc.Publication) error {
	list, err := c.prepare(p)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := c.enter(p.Service, p.Generation)
	if err != nil {
		return err
	}
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		c.leave(r, p.Generation)
		return ctx.Err()
	}
	done := make(chan error, 1)
	c.mu.Lock()
	c.leaveLocked(r, p.Generation)
	err = r.staleLocked(p.Generation)
	if err == nil && !c.goLocked(func(ctx context.Context) {
		err := r.deliver(ctx, p.Generation, list)
		<-r.turn
		done <- err
	}) {
		err = c.notRunning("publish", p.Service)
	}
	c.mu.Unlock()
	if err != nil {
		<-r.turn
		return err
	}
	// What has begun is ended, whoever waits for it: a list that is given up in
	// between might arrive after a newer one.
	select {
	case err := <-done:
		return failure("publish", p.Service, err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) notRunning(op string, s rc.Service) error {
	return &rc.Error{Op: op, Service: s, Kind: rc.Unavailable, Err: errors.New("the client does not run")}
}

// enter finds the record of s and says that a call waits for its turn.
func (c *Client) enter(s rc.Service, generation uint64) (*record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.published[s]
	if r == nil {
		r = &record{c: c, service: s, turn: make(chan struct{}, 1)}
		c.published[s] = r
	}
	if err := r.staleLocked(generation); err != nil {
		return nil, err
	}
	r.waiting = append(r.waiting, generation)
	return r, nil
}

func (c *Client) leave(r *record, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveLocked(r, generation)
}

func (c *Client) leaveLocked(r *record, generation uint64) {
	if n := slices.Index(r.waiting, generation); n >= 0 {
		r.waiting = slices.Delete(r.waiting, n, n+1)
	}
}

// staleLocked tells whether something newer was accepted, or waits.
func (r *record) staleLocked(generation uint64) error {
	newest := r.generation
	for _, g := range r.waiting {
		newest = max(newest, g)
	}
	if generation >= newest {
		return nil
	}
	return &rc.Error{
		Op: "publish", Service: r.service, Kind: rc.Stale,
		Err: fmt.Errorf("generation %d comes after %d", generation, newest),
	}
}

// change is what becomes of one part.
type change struct {
	part *part
	list []rc.Instance
	raw  []json.RawMessage

	held, bytes int    // what of the part counted in its connection before
	on          uint64 // the session that has taken it
}

// deliver makes list what we publish. It is called by who has the turn.
func (r *record) deliver(ctx context.Context, generation uint64, list []rc.Instance) error {
	c := r.c
	raw, err := encode(list)
	if err != nil {
		return &rc.Error{Op: "publish", Service: r.service, Kind: rc.Invalid, Err: err}
	}
	for {
		c.mu.Lock()
		batches := !c.noBatch
		changes := r.planLocked(list, raw)
		c.mu.Unlock()
		tried, err := c.send(ctx, r, changes)
		c.mu.Lock()
		if err == nil {
			r.acceptLocked(generation, list, changes)
			c.mu.Unlock()
			return nil
		}
		r.undoLocked(changes, tried, rc.Retryable(failure("publish", r.service, err)))
		var no *refusal
		single := batches && errors.As(err, &no) && no.is(codeNoHandler)
		if single && !c.noBatch {
			c.noBatch = true
			c.log.Warn("this Nacos takes one instance of a service on a connection (it is older than 2.2): many connections will be needed")
		}
		c.mu.Unlock()
		if !single {
			return err
		}
	}
}

// send sends what has to be, one part after another. tried says how many of them
// a server may have seen.
func (c *Client) send(ctx context.Context, r *record, changes []change) (tried int, err error) {
	for n := range changes {
		ch := &changes[n]
		s, err := c.await(ctx, ch.part.conn)
		if err != nil {
			return n, err
		}
		c.mu.Lock()
		ch.part.sent = s.id
		before := ch.part.accepted
		c.mu.Unlock()
		if err := c.put(ctx, s, r.service, ch.list, ch.raw, before); err != nil {
			return n + 1, err
		}
		ch.on = s.id
	}
	return len(changes), nil
}

// await gives the session of k. Only a connection that has just been added is
// waited for.
func (c *Client) await(ctx context.Context, k *conn) (*session, error) {
	deadline := time.Now().Add(c.cfg.ConnectTimeout)
	for {
		c.mu.Lock()
		s, ready, fresh, reason, link := k.session, k.ready, !k.counts, k.reason, c.link
		c.mu.Unlock()
		if s != nil && ready {
			return s, nil
		}
		if !fresh || k.index == 0 || time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.New(reason)
		}
		_, _, changed := link.Look()
		t := time.NewTimer(5 * time.Millisecond)
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// put makes list the list of s's client under a service. before is what it was,
// as far as is known.
func (c *Client) put(ctx context.Context, s *session, svc rc.Service, list []rc.Instance, raw []json.RawMessage, before []rc.Instance) error {
	c.counters.publishes.Add(1)
	var err error
	c.mu.Lock()
	noBatch := c.noBatch
	c.mu.Unlock()
	switch {
	case len(list) == 0:
		// Whatever instance is named, the whole list of this client is removed.
		i := instance{IP: "0.0.0.0", Ephemeral: true, ClusterName: "DEFAULT", Metadata: map[string]string{}}
		if len(before) > 0 {
			i = wireInstance(before[0])
		}
		_, err = s.call(ctx, "InstanceRequest", instanceRequest{fieldsOf(svc), "deregisterInstance", i})
	case noBatch && len(list) == 1:
		_, err = s.call(ctx, "InstanceRequest", instanceRequest{fieldsOf(svc), "registerInstance", wireInstance(list[0])})
	default:
		_, err = s.call(ctx, "BatchInstanceRequest", batchInstanceRequest{fieldsOf(svc), "batchRegisterInstance", raw})
	}
	var no *refusal
	if errors.As(err, &no) && no.kind() == rc.Invalid {
		c.counters.refusals.Add(1)
	}
	return err
}

// acceptLocked notes that all changes stand.
func (r *record) acceptLocked(generation uint64, list []rc.Instance, changes []change) {
	c := r.c
	for _, ch := range changes {
		p := ch.part
		p.accepted, p.on, p.attempts, p.refusal, p.retryAt = ch.list, ch.on, 0, "", time.Time{}
		if s := p.conn.session; s == nil || s.id != p.on {
			p.conn.nudge()
		}
		if len(p.accepted) == 0 {
			p.dropLocked()
		}
	}
	if f := c.followed[r.service]; f != nil {
		f.releaseLocked(r.accepted, list)
	}
	r.accepted, r.generation, r.changed, r.mends = list, generation, time.Now(), 0
}

// undoLocked takes back a delivery that did not come through: what a server has
// seen of it is replaced by what was there before, as soon as that works.
func (r *record) undoLocked(changes []change, tried int, doubt bool) {
	for n, ch := range changes {
		p := ch.part
		p.countLocked(ch.held, ch.bytes)
		if n < tried {
			p.on, p.retryAt = 0, time.Time{}
			if doubt {
				p.retryAt = time.Now().Add(time.Second) // who published tries again before
			}
			p.conn.nudge()
		} else if len(p.accepted) == 0 {
			p.dropLocked()
		}
	}
}

// dropLocked takes an empty part away.
func (p *part) dropLocked() {
	p.countLocked(0, 0)
	if p.conn.parts[p.record.service] == p {
		delete(p.conn.parts, p.record.service)
	}
	p.record.parts = slices.DeleteFunc(p.record.parts, func(o *part) bool { return o == p })
}

// lacksLocked tells whether p has to be sent to s by its connection. One that is
// only about to get its first list has not: who delivers that waits for the
// connection.
func (p *part) lacksLocked(s *session) bool {
	return p.on != s.id && (len(p.accepted) > 0 || p.sent == s.id)
}

// redo makes p stand on s, unless it does.
func (p *part) redo(ctx context.Context, s *session) {
	r, c := p.record, p.record.c
	select {
	case r.turn <- struct{}{}:
	case <-s.done:
		return
	case <-ctx.Done():
		return
	}
	defer func() { <-r.turn }()
	c.mu.Lock()
	list, here := p.accepted, p.conn.parts[r.service] == p
	if !here || !p.lacksLocked(s) {
		c.mu.Unlock()
		return
	}
	p.sent = s.id
	c.mu.Unlock()

	raw, err := encode(list)
	if err == nil {
		err = c.put(ctx, s, r.service, list, raw, list)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		p.on, p.attempts, p.refusal, p.retryAt = s.id, 0, "", time.Time{}
		r.changed = time.Now()
		c.counters.redone.Add(1)
		if len(list) == 0 {
			p.dropLocked()
		}
		return
	}
	p.retryAt = time.Now().Add(c.backoff(p.attempts))
	p.attempts++
	err = failure("publish", r.service, err)
	if rc.Retryable(err) || ctx.Err() != nil || !s.alive() {
		return
	}
	if p.refusal == "" {
		c.log.Error("Nacos does not take any more what it had taken before; it is tried again each 5 minutes",
			"service", r.service.String(), "instances", len(list), "err", err)
	}
	p.refusal, p.retryAt = err.Error(), time.Now().Add(5*time.Minute)
}

// servicesLocked lists what we publish.
func (c *Client) servicesLocked() []rc.Service {
	var list []rc.Service
	for s, r := range c.published {
		if len(r.accepted) > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, rc.Service.Compare)
	return list
}

// encode gives each instance as it is sent.
func encode(list []rc.Instance) ([]json.RawMessage, error) {
	raw := make([]json.RawMessage, len(list))
	for n, i := range list {
		var err error
		if raw[n], err = json.Marshal(wireInstance(i)); err != nil {
			return nil, fmt.Errorf("%s: %w", i.Address(), err)
		}
	}
	return raw, nil
}

// planLocked distributes a list over connections: an instance stays where one of its
// address is, a new one goes where there is room. It gives what has to be sent,
// and counts it as if it were there.
func (r *record) planLocked(list []rc.Instance, raw []json.RawMessage) []change {
	c := r.c
	home := make(map[string]*part)
	for _, p := range r.parts {
		for _, i := range p.accepted {
			home[i.Address()] = p
		}
	}
	// Parts that hold more than a server takes are taken apart.
	split := c.noBatch
	planned := make(map[*part]*change, len(r.parts))
	order := make([]*change, 0, len(r.parts)+1)
	plan := func(p *part) *change {
		ch := planned[p]
		if ch == nil {
			ch = &change{part: p, held: p.held, bytes: p.bytes}
			planned[p] = ch
			order = append(order, ch)
		}
		return ch
	}
	for _, p := range r.parts {
		plan(p)
		p.countLocked(0, 0)
	}
	put := func(p *part, n int) {
		ch := plan(p)
		ch.list, ch.raw = append(ch.list, list[n]), append(ch.raw, raw[n])
		p.countLocked(p.held+1, p.bytes+len(raw[n]))
	}
	full := func(p *part, n int) bool {
		k := p.conn
		return split && p.held >= 1 || p.held > 0 && (k.instances+1 > c.cfg.InstancesPerConnection || k.bytes+len(raw[n]) > c.cfg.BytesPerConnection)
	}
	var fresh []int
	for n, i := range list {
		if p := home[i.Address()]; p != nil && !(split && p.held >= 1) {
			put(p, n)
		} else {
			fresh = append(fresh, n)
		}
	}
	for _, n := range fresh {
		at := slices.IndexFunc(r.parts, func(p *part) bool { return !full(p, n) && p.held > 0 })
		if at < 0 {
			// One that is about to be empty is as good as a new one.
			at = slices.IndexFunc(r.parts, func(p *part) bool { return p.held == 0 && p.conn.instances < c.cfg.InstancesPerConnection })
		}
		if at < 0 {
			k := c.roomLocked(r.service, 1, len(raw[n]), 0)
			p := &part{record: r, conn: k}
			r.parts = append(r.parts, p)
			k.parts[r.service] = p
			at = len(r.parts) - 1
		}
		put(r.parts[at], n)
	}
	changes := make([]change, 0, len(order))
	for _, ch := range order {
		p := ch.part
		if s := p.conn.session; s != nil && p.on == s.id && slices.EqualFunc(p.accepted, ch.list, rc.Instance.Equal) {
			if len(ch.list) > 0 {
				c.counters.unchanged.Add(1)
			}
			continue
		}
		changes = append(changes, *ch)
	}
	// What is added leaves before what is taken away.
	slices.SortStableFunc(changes, func(a, b change) int {
		return len(b.list) - len(b.part.accepted) - (len(a.list) - len(a.part.accepted))
	})
	return changes
}

// countLocked says what of p counts in its connection.
func (p *part) countLocked(instances, bytes int) {
	p.conn.instances += instances - p.held
	p.conn.bytes += bytes - p.bytes
	p.held, p.bytes = instances, bytes
}
