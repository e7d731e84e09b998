package embedded

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	rc "zkbridge/registryclient"
)

// RemoteConfig makes a Remote.
type RemoteConfig struct {
	Address string        // of the registry: "host:port" or a URL; default DefaultListen
	Token   string        // that the registry was started with
	Owner   rc.Owner      // who we are
	TTL     time.Duration // of the owner's lease; default DefaultLease
	Timeout time.Duration // of one call; default 5 s
	Silence time.Duration // after which a silent stream counts as lost; default 15 s
	// Retry is the first pause after a failure; it doubles up to MaxRetry, and
	// each pause is a random part of that. Defaults 50 ms and 2 s.
	Retry, MaxRetry time.Duration
	Random          func() float64 // in [0,1), for the pauses; default math/rand
	Dial            func(ctx context.Context, network, address string) (net.Conn, error)
	Log             *slog.Logger // nil: silent
}

// redoAtOnce is how many publications are repeated at the same time after a
// restart of the registry.
const redoAtOnce = 8

// Remote is the client of a registry that is another process, over its HTTP
// API. It holds one event stream for each namespace and group that somebody
// follows.
type Remote struct {
	// set at construction
	cfg    RemoteConfig
	api    *HTTPClient
	log    *slog.Logger
	ledger *ledger
	health *health
	renew  chan struct{} // holds one token when the lease is to be renewed now
	adjust chan struct{} // holds one token when streams are to be started or ended
	count  remoteCounters

	// guarded by mu
	mu      sync.Mutex
	streams map[groupKey]*stream
	lease   string // for which everything has been published
}

type remoteCounters struct {
	publishes, failures, redos, renewals, reconnects atomic.Uint64
}

var _ rc.Client = (*Remote)(nil)

// NewRemote makes a client. It opens no connection yet.
func NewRemote(cfg RemoteConfig) (*Remote, error) {
	for p, v := range map[*time.Duration]time.Duration{&cfg.TTL: DefaultLease, &cfg.Retry: 50 * time.Millisecond, &cfg.MaxRetry: 2 * time.Second} {
		if *p <= 0 {
			*p = v
		}
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	limits := Limits{}.withDefaults()
	for _, p := range []*Problem{limits.checkOwner(cfg.Owner), limits.checkTTL(cfg.TTL)} {
		if p != nil {
			return nil, failed("new client", rc.Service{}, p)
		}
	}
	api, err := NewHTTPClient(HTTPClientConfig{Address: cfg.Address, Token: cfg.Token, Timeout: cfg.Timeout, Silence: cfg.Silence, Dial: cfg.Dial})
	if err != nil {
		return nil, err
	}
	return &Remote{
		cfg: cfg, api: api, log: cfg.Log.With("registry", api.base), ledger: newLedger(), health: newHealth(),
		renew: make(chan struct{}, 1), adjust: make(chan struct{}, 1), streams: make(map[groupKey]*stream),
	}, nil
}

// Run keeps the lease, repeats the publications after a restart of the registry and
// reads the event streams until ctx ends.
func (r *Remote) Run(ctx context.Context) error {
	defer r.api.Close()
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { r.keepLease(ctx) })
	running := make(map[*stream]context.CancelFunc)
	for {
		r.mu.Lock()
		for _, s := range r.streams {
			if running[s] == nil {
				sctx, cancel := context.WithCancel(ctx)
				running[s] = cancel
				parts.Go(func() { r.keepStream(sctx, s) })
			}
		}
		for s, cancel := range running {
			if r.streams[s.key] != s {
				cancel()
				delete(running, s)
			}
		}
		r.mu.Unlock()
		select {
		case <-r.adjust:
		case <-ctx.Done():
			for _, cancel := range running {
				cancel()
			}
			return nil
		}
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// retries gives growing pauses with jitter.
type retries struct {
	cfg  *RemoteConfig
	next time.Duration
}

func (p *retries) reset() { p.next = 0 }

func (p *retries) pause() time.Duration {
	p.next = min(max(2*p.next, p.cfg.Retry), p.cfg.MaxRetry)
	return time.Duration((0.25 + 0.75*p.cfg.Random()) * float64(p.next))
}

// keepLease renews the lease until ctx ends: every third of its time, at once
// when a stream has broken or a publication met another lease, and with
// growing pauses while it fails.
func (r *Remote) keepLease(ctx context.Context) {
	pauses := retries{cfg: &r.cfg}
	told := "" // the failure that the log has already
	for {
		wait := r.cfg.TTL / 3
		doubts := r.health.doubted()
		switch err := r.renewNow(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = pauses.pause()
			r.count.failures.Add(1)
			switch reason := err.Error(); {
			case r.health.doubt(reason):
				r.log.Warn("link to the registry lost", "err", err)
				told = reason
			case told != reason: // it never was up, or it is something else now
				r.log.Warn("nothing can be published: the registry does not give us a lease", "err", err)
				told = reason
			}
		default:
			pauses.reset()
			told = ""
			if r.health.leaseGood(doubts) {
				r.log.Info("link to the registry is up")
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-r.renew:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// epochOf gives the life of the registry in which a lease was opened.
func epochOf(lease string) string {
	epoch, _, _ := strings.Cut(lease, ".")
	return epoch
}

// renewNow renews the lease. If it is another one than before, the registry
// may have lost everything, so everything is published again.
func (r *Remote) renewNow(ctx context.Context) error {
	var a leaseAnswer
	err := r.api.call(ctx, "renew", rc.Service{}, "PUT", ownerURL(r.cfg.Owner)+"/lease", leaseRequest{Incarnation: r.cfg.Owner.Incarnation, TTL: Duration(r.cfg.TTL)}, &a)
	if err != nil {
		return err
	}
	r.count.renewals.Add(1)
	r.mu.Lock()
	known := r.lease == a.Lease
	r.mu.Unlock()
	if known {
		return nil
	}
	if err := r.redo(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	r.lease = a.Lease
	r.mu.Unlock()
	return nil
}

// redo publishes everything again, withdrawals included.
func (r *Remote) redo(ctx context.Context) error {
	services := r.ledger.services()
	if len(services) == 0 {
		return nil
	}
	r.log.Info("publishing everything again: the registry opened a new lease", "services", len(services))
	work := make(chan rc.Service)
	fails := make(chan error, redoAtOnce)
	var workers sync.WaitGroup
	for range min(redoAtOnce, len(services)) {
		workers.Go(func() {
			var failed error
			for s := range work {
				if failed != nil {
					continue
				}
				err := r.ledger.redo(ctx, s, r.send)
				switch {
				case err == nil:
					r.count.redos.Add(1)
				case ctx.Err() != nil || rc.Retryable(err):
					failed = err
				default:
					r.log.Warn("a publication was refused when it was repeated", "err", err)
				}
			}
			fails <- failed
		})
	}
	for _, s := range services {
		work <- s
	}
	close(work)
	workers.Wait()
	close(fails)
	for err := range fails {
		if err != nil {
			return err
		}
	}
	return nil
}

// send makes the call of a publication.
func (r *Remote) send(ctx context.Context, p rc.Publication) error {
	m := publishRequest{Incarnation: p.Incarnation, Generation: p.Generation, TTL: Duration(r.cfg.TTL), Instances: make([]publishItem, len(p.Instances))}
	for k, i := range p.Instances {
		m.Instances[k] = publishItem(i)
	}
	var a leaseAnswer
	if err := r.api.call(ctx, "publish", p.Service, "PUT", ownerURL(p.Owner)+serviceURL(p.Service)[len("/v1"):], m, &a); err != nil {
		return err
	}
	r.mu.Lock()
	lease := r.lease
	r.mu.Unlock()
	if lease != a.Lease {
		r.lostBy(lease, "the registry has lost our lease; publishing everything again")
	}
	return nil
}

// lostBy has the lease renewed at once. If there was one, the link is down
// until that is done.
func (r *Remote) lostBy(lease, reason string) {
	if lease != "" && r.health.doubt(reason) {
		r.log.Warn("link to the registry lost", "err", reason)
	}
	poke(r.renew)
}

// Publish implements registryclient.Publisher.
func (r *Remote) Publish(ctx context.Context, p rc.Publication) error {
	if err := checkPublisher(r.cfg.Owner, p); err != nil {
		return err
	}
	r.count.publishes.Add(1)
	err := r.ledger.publish(ctx, clonePublication(p), r.send)
	if err != nil {
		r.count.failures.Add(1)
	}
	return err
}

// OwnServices implements registryclient.OwnServices.
func (r *Remote) OwnServices(ctx context.Context, o rc.Owner) ([]rc.Service, error) {
	var a ownServicesAnswer
	if err := r.api.call(ctx, "own services", rc.Service{}, "GET", ownerURL(o)+"/services", nil, &a); err != nil {
		return nil, err
	}
	list := make([]rc.Service, len(a.Services))
	for k, s := range a.Services {
		list[k] = rc.Service{Namespace: s.Namespace, Group: s.Group, Name: s.Service}
	}
	return list, nil
}

// Subscribe implements registryclient.Subscriber.
func (r *Remote) Subscribe(ctx context.Context, s rc.Service, fn func(rc.Snapshot)) error {
	if p := (Limits{}).withDefaults().checkService(s); p != nil {
		return failed("subscribe", s, p)
	}
	st := r.follow(groupOf(s))
	defer r.unfollow(st)
	f := st.follow(s.Name)
	defer st.unfollow(s.Name)
	f.Follow(ctx, fn)
	return nil
}

// WatchNames implements registryclient.Names.
func (r *Remote) WatchNames(ctx context.Context, namespace, group string, fn func([]string)) error {
	if p := (Limits{}).withDefaults().checkGroup(namespace, group); p != nil {
		return failed("names", rc.Service{Namespace: namespace, Group: group}, p)
	}
	st := r.follow(groupKey{namespace, group})
	defer r.unfollow(st)
	st.names.Follow(ctx, fn)
	return nil
}

// follow gives the stream of a group and has Run start it.
func (r *Remote) follow(k groupKey) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[k]
	if s == nil {
		s = newStream(k, keyOf(r.cfg.Owner))
		r.streams[k] = s
		poke(r.adjust)
	}
	s.users++
	return s
}

func (r *Remote) unfollow(s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(r.streams, s.key)
		poke(r.adjust)
	}
}

// LinkState implements registryclient.Link.
func (r *Remote) LinkState() rc.LinkState {
	s, _, _ := r.health.state.Look()
	return s
}

// WatchLink implements registryclient.Link.
func (r *Remote) WatchLink(ctx context.Context, fn func(rc.LinkState)) error {
	r.health.state.Follow(ctx, fn)
	return nil
}

// Capabilities implements registryclient.Client.
func (r *Remote) Capabilities() rc.Capabilities { return capabilities(r.cfg.TTL, 0) }

// RemoteStats counts what a Remote has done.
type RemoteStats struct {
	Publishes  uint64 // calls of Publish
	Failures   uint64 // of them and of renewals
	Redos      uint64 // publications repeated after a restart of the registry
	Renewals   uint64
	Reconnects uint64 // of event streams
	Streams    int
}

// Stats gives a snapshot of the numbers.
func (r *Remote) Stats() RemoteStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return RemoteStats{
		Publishes: r.count.publishes.Load(), Failures: r.count.failures.Load(), Redos: r.count.redos.Load(),
		Renewals: r.count.renewals.Load(), Reconnects: r.count.reconnects.Load(), Streams: len(r.streams),
	}
}
