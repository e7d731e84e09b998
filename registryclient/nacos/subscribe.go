package nacos

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/internal/latest"
)

// subscription is a service that somebody follows. However many do, the server
// has it once.
type subscription struct {
	// set at construction
	c       *Client
	service rc.Service
	conn    *conn
	value   *latest.Value[rc.Snapshot]
	turn    chan struct{} // holds one token: who has it subscribes or unsubscribes

	// guarded by Client.mu
	refs      int       // followers; 0: about to go
	on        uint64    // id of the session on which the server has it
	asking    uint64    // id of the session on which it is being told
	retryAt   time.Time // when to tell it again
	attempts  int       // in a row that failed
	known     bool      // shown is something
	shown     []rc.Instance
	listed    []rc.Instance   // what the server said last
	listedOn  uint64          // on which session
	listedAt  int64           // lastRefTime of it: the server's clock
	kept      int             // instances of shown that are not in listed
	settle    time.Time       // until when such are kept; zero: none are
	withdrawn map[string]bool // addresses of ours that are not kept
	pending   []byte          // a push that has not been read
	pendingOn uint64
	reading   bool // somebody reads pending
}

// Subscribe implements registryclient.Subscriber.
func (c *Client) Subscribe(ctx context.Context, s rc.Service, fn func(rc.Snapshot)) error {
	if why := checkService(s); why != "" {
		return &rc.Error{Op: "subscribe", Service: s, Kind: rc.Invalid, Err: errors.New(why)}
	}
	if ctx.Err() != nil {
		return nil
	}
	c.mu.Lock()
	f := c.followed[s]
	if f == nil {
		f = &subscription{c: c, service: s, value: latest.New[rc.Snapshot](), turn: make(chan struct{}, 1)}
		f.conn = c.roomLocked(s, 0, 0, 1)
		f.conn.subs[s] = f
		c.followed[s] = f
	}
	f.refs++
	if f.refs == 1 {
		f.conn.nudge()
	}
	c.mu.Unlock()

	f.value.Follow(ctx, fn)

	c.mu.Lock()
	defer c.mu.Unlock()
	if f.refs--; f.refs == 0 {
		f.conn.nudge()
	}
	return nil
}

// dropLocked forgets a subscription that nobody follows and no server has.
func (f *subscription) dropLocked() {
	delete(f.conn.subs, f.service)
	delete(f.c.followed, f.service)
}

// sync tells the server on s what is wanted, unless it knows.
func (f *subscription) sync(ctx context.Context, s *session) {
	c := f.c
	select {
	case f.turn <- struct{}{}:
	case <-s.done:
		return
	case <-ctx.Done():
		return
	}
	defer func() { <-f.turn }()
	c.mu.Lock()
	want, has := f.refs > 0, f.on == s.id
	if want == has {
		if !want && c.followed[f.service] == f {
			f.dropLocked()
		}
		c.mu.Unlock()
		return
	}
	if want {
		f.asking = s.id
	}
	c.mu.Unlock()

	a, err := s.call(ctx, "SubscribeServiceRequest", subscribeServiceRequest{fieldsOf(f.service), want, ""})

	c.mu.Lock()
	defer c.mu.Unlock()
	f.asking = 0
	if err != nil {
		err = failure("subscribe", f.service, err)
		wait := c.backoff(f.attempts)
		if !rc.Retryable(err) && ctx.Err() == nil && s.alive() {
			if f.attempts == 0 {
				c.log.Error("Nacos refuses a subscription; it is tried again each minute", "service", f.service.String(), "err", err)
			}
			wait = time.Minute
		}
		f.attempts++
		f.retryAt = time.Now().Add(wait)
		return
	}
	f.attempts, f.retryAt = 0, time.Time{}
	if !want {
		f.on = 0
		if f.refs == 0 {
			f.dropLocked()
		} else {
			f.conn.nudge() // somebody has come meanwhile
		}
		return
	}
	f.on = s.id
	if f.refs == 0 {
		f.conn.nudge()
	}
	if a.ServiceInfo != nil {
		f.takeLocked(s.id, a.ServiceInfo, false)
	}
}

// unsettleLocked says that the server may know less than the one before, until
// then.
func (f *subscription) unsettleLocked(until time.Time) {
	if f.known {
		f.settle, f.withdrawn = until, nil
	}
}

// pushed takes a push, to be read soon. Of several the last one counts.
func (f *subscription) pushed(s *session, body []byte) {
	c := f.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.on != s.id && f.asking != s.id {
		return
	}
	f.pending, f.pendingOn = body, s.id
	if !f.reading {
		f.reading = c.goLocked(func(context.Context) { f.readPending() })
	}
}

func (f *subscription) readPending() {
	c := f.c
	for {
		c.mu.Lock()
		body, on := f.pending, f.pendingOn
		f.pending = nil
		if body == nil {
			f.reading = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		var m struct {
			ServiceInfo *serviceInfo `json:"serviceInfo"`
		}
		if err := json.Unmarshal(body, &m); err != nil || m.ServiceInfo == nil {
			c.log.Error("a list from Nacos cannot be read", "service", f.service.String(), "err", err)
			continue
		}
		m.ServiceInfo.sort()
		c.mu.Lock()
		if f.on == on || f.asking == on {
			f.takeLocked(on, m.ServiceInfo, true)
		}
		c.mu.Unlock()
	}
}

// sort brings the hosts into the order of snapshots, so that less is to do under a
// lock.
func (i *serviceInfo) sort() {
	slices.SortFunc(i.Hosts, func(a, b instance) int { return a.instance().Compare(b.instance()) })
}

// takeLocked takes what the server of session on says. Pushes come in the
// server's order. What is asked for may be overtaken by them, which its time tells;
// times of different servers mean nothing to each other.
func (f *subscription) takeLocked(on uint64, info *serviceInfo, push bool) {
	if !push && f.listedOn == on && info.LastRefTime < f.listedAt {
		return
	}
	f.listedOn, f.listedAt = on, info.LastRefTime
	list := make([]rc.Instance, len(info.Hosts))
	for n, h := range info.Hosts {
		list[n] = h.instance()
	}
	if !slices.IsSortedFunc(list, rc.Instance.Compare) {
		slices.SortFunc(list, rc.Instance.Compare)
	}
	f.listed = list
	f.showLocked()
}

// showLocked shows what the server has listed and, until it is settled, what it
// is missing of what was shown before.
func (f *subscription) showLocked() {
	list, kept := f.listed, 0
	if !f.settle.IsZero() && time.Now().Before(f.settle) {
		listed := make(map[string]bool, len(list))
		for _, i := range list {
			listed[i.Address()] = true
		}
		for _, i := range f.shown {
			if at := i.Address(); !listed[at] && !f.withdrawn[at] {
				if kept == 0 {
					list = slices.Clone(list)
				}
				kept++
				list = append(list, i)
			}
		}
		if kept > 0 {
			slices.SortFunc(list, rc.Instance.Compare)
			if f.kept == 0 {
				f.c.counters.kept.Add(1)
				f.c.log.Info("Nacos lists less than before the connection was made; what is missing is shown until it has settled",
					"service", f.service.String(), "listed", len(f.listed), "kept", kept, "until", f.settle)
			}
		}
	}
	f.kept = kept
	if f.known && slices.EqualFunc(list, f.shown, rc.Instance.Equal) {
		return
	}
	f.known, f.shown = true, list
	snap := rc.Snapshot{Service: f.service, Instances: make([]rc.Observed, len(list))}
	for n, i := range list {
		snap.Instances[n] = rc.Observed{Instance: i}
	}
	f.value.Put(snap)
}

// releaseLocked says that of what we published before only now is left: what we
// have withdrawn is not kept.
func (f *subscription) releaseLocked(before, now []rc.Instance) {
	if f.settle.IsZero() {
		return
	}
	if f.withdrawn == nil {
		f.withdrawn = make(map[string]bool)
	}
	for _, i := range before {
		f.withdrawn[i.Address()] = true
	}
	for _, i := range now {
		delete(f.withdrawn, i.Address())
	}
	f.showLocked()
}

// confirm asks the server for the list after it has settled, and believes it.
func (f *subscription) confirm(s *session) {
	c := f.c
	a, err := s.call(context.Background(), "ServiceQueryRequest", serviceQueryRequest{serviceFields: fieldsOf(f.service)})
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.on != s.id || f.settle.IsZero() || f.settle.After(time.Now()) {
		return
	}
	if err != nil || a.ServiceInfo == nil {
		f.settle = time.Now().Add(time.Second)
		return
	}
	f.settle, f.withdrawn = time.Time{}, nil
	f.takeLocked(s.id, a.ServiceInfo, false)
	f.showLocked()
}
