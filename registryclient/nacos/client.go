package nacos

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/internal/latest"
)

// Client is a Nacos cluster as seen by one owner.
type Client struct {
	// set at construction
	cfg     Config
	log     *slog.Logger
	servers []server
	tokens  *tokens
	http    *http.Client
	link    *latest.Value[rc.LinkState]
	started chan struct{} // closed when Run runs

	counters counters
	sessions atomic.Uint64 // ids
	first    int           // index of the server that the first connection tries first

	mu        sync.Mutex
	spawn     func(func(context.Context)) // nil while Run does not run
	state     rc.LinkState
	conns     []*conn                      // [0] is always there; it lists names too
	published map[rc.Service]*record       // what is to be there, and the generations of what was
	followed  map[rc.Service]*subscription // services that somebody follows
	groups    map[group]*nameList          // groups that somebody follows
	documents *documents                   // nil until somebody asks for one
	noBatch   bool                         // the server takes one instance a list only (2.1)
}

var _ rc.Client = (*Client)(nil)

// New makes a client. It connects when Run runs.
func New(cfg Config) (*Client, error) {
	cfg, servers, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if transport.TLSClientConfig = cfg.TLS; cfg.TLS == nil {
		transport.TLSClientConfig = cfg.HTTPTLS
	}
	c := &Client{
		cfg: cfg, log: cfg.Log, servers: servers, link: latest.New[rc.LinkState](), started: make(chan struct{}),
		http:      &http.Client{Transport: transport, Timeout: cfg.RequestTimeout},
		published: make(map[rc.Service]*record), followed: make(map[rc.Service]*subscription), groups: make(map[group]*nameList),
		first: int(cfg.Jitter() * float64(len(servers))),
	}
	c.tokens = &tokens{
		username: cfg.Username, password: cfg.Password, http: c.http, counters: &c.counters,
		log: c.log.Warn, turn: make(chan struct{}, 1),
	}
	c.conns = []*conn{newConn(c, 0)}
	c.setLinkLocked(rc.LinkState{Reason: "not connected yet", Since: time.Now()}) // not shared yet
	return c, nil
}

// Run implements registryclient.Client. It ends with all its connections closed.
func (c *Client) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	c.mu.Lock()
	c.spawn = func(fn func(context.Context)) { work.Go(func() { fn(ctx) }) }
	for _, k := range c.conns {
		c.spawn(k.run)
	}
	for _, l := range c.groups {
		c.spawn(l.run)
	}
	c.spawn(func(ctx context.Context) { c.tokens.keep(ctx, c.servers) })
	c.spawn(c.verify)
	if c.documents != nil {
		c.spawn(c.documents.run)
	}
	c.mu.Unlock()
	close(c.started)

	<-ctx.Done()
	c.mu.Lock()
	c.spawn = nil // so that Add and Wait do not race
	c.mu.Unlock()
	work.Wait()
	c.http.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLinkLocked(rc.LinkState{Reason: "the client has ended", Since: time.Now()})
	return nil
}

// goLocked runs fn until Run ends; false: Run does not run.
func (c *Client) goLocked(fn func(context.Context)) bool {
	if c.spawn == nil {
		return false
	}
	c.spawn(fn)
	return true
}

// LinkState implements registryclient.Link.
func (c *Client) LinkState() rc.LinkState {
	s, _, _ := c.link.Look()
	return s
}

// WatchLink implements registryclient.Link.
func (c *Client) WatchLink(ctx context.Context, fn func(rc.LinkState)) error {
	c.link.Follow(ctx, fn)
	return nil
}

func (c *Client) setLinkLocked(s rc.LinkState) {
	if c.state.Up == s.Up && c.state.Reason == s.Reason && !c.state.Since.IsZero() {
		return
	}
	if c.state.Up == s.Up && !c.state.Since.IsZero() {
		s.Since = c.state.Since // only the reason is another
	}
	c.state = s
	c.link.Put(s)
}

// linkLocked computes the state of the link: up when every connection that has
// been needed so far has everything.
func (c *Client) linkLocked() {
	up, reason := true, ""
	for n, k := range c.conns {
		if k.ready || n > 0 && !k.counts {
			continue
		}
		up = false
		if reason == "" {
			reason = k.reason
		}
	}
	if reason == "" && !up {
		reason = "not connected yet"
	}
	c.setLinkLocked(rc.LinkState{Up: up, Reason: reason, Since: time.Now()})
}

// Capabilities implements registryclient.Client.
func (c *Client) Capabilities() rc.Capabilities {
	limit := max(c.cfg.MetadataLimit, 0)
	if len(c.cfg.DropMetadata) > 0 {
		limit = 0 // decided here, by what is left after dropping
	}
	return rc.Capabilities{
		DiesWithConnection: true, MergesEqual: true, Native: true, HidesDisabled: true,
		MetadataLimit: limit, Staleness: 1800 * time.Millisecond,
	}
}

// OwnServices implements registryclient.OwnServices: what the present
// connections hold. It asks the server, so that a link that is dead is noticed.
func (c *Client) OwnServices(ctx context.Context, o rc.Owner) ([]rc.Service, error) {
	c.mu.Lock()
	k, state := c.conns[0], c.state
	s := k.session
	c.mu.Unlock()
	if s == nil || !state.Up {
		return nil, &rc.Error{Op: "own services", Kind: rc.Unavailable, Err: errors.New(state.Reason)}
	}
	if _, err := s.call(ctx, "HealthCheckRequest", struct{}{}); err != nil {
		return nil, failure("own services", rc.Service{}, err)
	}
	if !o.Same(c.cfg.Owner) {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servicesLocked(), nil
}

// Stats is a snapshot of the client's numbers.
func (c *Client) Stats() Stats {
	n := &c.counters
	s := Stats{
		Connects: n.connects.Load(), ConnectFailures: n.connectFailures.Load(), Losses: n.losses.Load(), Resets: n.resets.Load(),
		HealthFailures: n.healthFailures.Load(), Publishes: n.publishes.Load(), Unchanged: n.unchanged.Load(), Refusals: n.refusals.Load(),
		Redone: n.redone.Load(), Pushes: n.pushes.Load(), NamesLists: n.namesLists.Load(), Kept: n.kept.Load(), Verified: n.verified.Load(),
		Mended: n.mended.Load(), MetadataDropped: n.metadataDropped.Load(), Logins: n.logins.Load(), LoginFailures: n.loginFailures.Load(),
		RequestsTotal: n.requestsTotal.Load(), RequestsFailed: n.requestsFailed.Load(), RequestsTimedOut: n.requestsTimedOut.Load(),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.ConnectionsWant = len(c.conns)
	for _, k := range c.conns {
		if k.ready {
			s.Connections++
		}
	}
	for _, r := range c.published {
		if len(r.accepted) > 0 {
			s.Services++
			s.Instances += len(r.accepted)
		}
	}
	s.Subscriptions = len(c.followed)
	for _, f := range c.followed {
		if f.kept > 0 {
			s.Unsettled++
		}
	}
	return s
}

// failure makes a registryclient error of what a call answered.
func failure(op string, s rc.Service, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var already *rc.Error
	if errors.As(err, &already) {
		return err
	}
	kind := rc.Unavailable
	var no *refusal
	if errors.As(err, &no) {
		kind = no.kind()
	}
	return &rc.Error{Op: op, Service: s, Kind: kind, Err: err}
}

// backoff gives the pause before the n-th retry (from 0): full jitter.
func (c *Client) backoff(n int) time.Duration {
	d := float64(c.cfg.ReconnectMin) * math.Pow(2, float64(min(n, 20)))
	d = min(d, float64(c.cfg.ReconnectMax))
	return time.Duration(c.cfg.Jitter() * d)
}
