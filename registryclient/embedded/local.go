package embedded

import (
	"context"
	"sync"
	"time"

	rc "zkbridge/registryclient"
)

// DefaultLease is how long an owner's records stay after its last renewal.
const DefaultLease = 30 * time.Second

// Local is the client of a registry in the same process.
type Local struct {
	// set at construction
	reg    *Registry
	owner  rc.Owner
	ttl    time.Duration
	born   time.Time
	ledger *ledger

	// guarded by mu
	mu    sync.Mutex
	lease string // for which everything has been published
}

var _ rc.Client = (*Local)(nil)

// NewLocal makes the client of owner at reg, with a lease of ttl (0 means
// DefaultLease).
func NewLocal(reg *Registry, owner rc.Owner, ttl time.Duration) (*Local, error) {
	if ttl == 0 {
		ttl = DefaultLease
	}
	for _, p := range []*Problem{reg.limits.checkOwner(owner), reg.limits.checkTTL(ttl)} {
		if p != nil {
			return nil, failed("new client", rc.Service{}, p)
		}
	}
	return &Local{reg: reg, owner: owner, ttl: ttl, born: time.Now(), ledger: newLedger()}, nil
}

// Run renews the lease until ctx ends.
func (l *Local) Run(ctx context.Context) error {
	tick := time.NewTicker(l.ttl / 3)
	defer tick.Stop()
	broken := false
	for {
		err := l.renew(ctx)
		if err != nil && !broken && ctx.Err() == nil {
			l.reg.log.Error("lease not renewed", "owner", l.owner.String(), "err", err)
		}
		broken = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// renew renews the lease and, if it had lapsed, publishes everything again.
func (l *Local) renew(ctx context.Context) error {
	lease, err := l.reg.Renew(l.owner, l.ttl)
	if err != nil {
		return err
	}
	l.mu.Lock()
	known := l.lease == lease.ID
	l.mu.Unlock()
	if known {
		return nil
	}
	for _, s := range l.ledger.services() {
		if err := l.ledger.redo(ctx, s, l.send); err != nil && rc.Retryable(err) {
			return err
		}
	}
	l.mu.Lock()
	l.lease = lease.ID
	l.mu.Unlock()
	return nil
}

func (l *Local) send(_ context.Context, p rc.Publication) error {
	_, err := l.reg.publish(p, l.ttl) // Publish has made a copy for the ledger: one is enough
	return err
}

// Publish implements registryclient.Publisher.
func (l *Local) Publish(ctx context.Context, p rc.Publication) error {
	if err := checkPublisher(l.owner, p); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.ledger.publish(ctx, clonePublication(p), l.send)
}

// checkPublisher refuses to publish for somebody else.
func checkPublisher(client rc.Owner, p rc.Publication) error {
	if p.Owner == client {
		return nil
	}
	return failed("publish", p.Service, problem(codeInvalid, "publish as the owner that the client was made for",
		"the publication is owned by %s and the client by %s", p.Owner, client))
}

// clonePublication makes a copy that the caller cannot change.
func clonePublication(p rc.Publication) rc.Publication {
	list := make([]rc.Instance, len(p.Instances))
	for k, i := range p.Instances {
		list[k] = i.Clone()
	}
	p.Instances = list
	return p
}

// Subscribe implements registryclient.Subscriber.
func (l *Local) Subscribe(ctx context.Context, s rc.Service, fn func(rc.Snapshot)) error {
	err := l.reg.follow(ctx, s, func(v *view) error {
		fn(v.snapshot(keyOf(l.owner)))
		return nil
	})
	return l.stay(ctx, err)
}

// WatchNames implements registryclient.Names.
func (l *Local) WatchNames(ctx context.Context, namespace, group string, fn func([]string)) error {
	err := l.reg.followNames(ctx, groupKey{namespace, group}, func(names []string, _ uint64) error {
		fn(names)
		return nil
	})
	return l.stay(ctx, err)
}

// stay keeps a subscription silent, instead of ending it, when the registry has
// ended.
func (l *Local) stay(ctx context.Context, err error) error {
	if err != nil && !rc.Retryable(err) {
		return err
	}
	<-ctx.Done()
	return nil
}

// OwnServices implements registryclient.OwnServices.
func (l *Local) OwnServices(_ context.Context, o rc.Owner) ([]rc.Service, error) {
	return l.reg.OwnServices(o)
}

// LinkState is up while the registry runs: there is no link to lose.
func (l *Local) LinkState() rc.LinkState {
	l.reg.mu.Lock()
	defer l.reg.mu.Unlock()
	if l.reg.ended {
		return rc.LinkState{Reason: "the registry in this process has ended", Since: l.reg.endedAt}
	}
	return rc.LinkState{Up: true, Since: l.born}
}

// WatchLink implements registryclient.Link.
func (l *Local) WatchLink(ctx context.Context, fn func(rc.LinkState)) error {
	fn(l.LinkState())
	select {
	case <-ctx.Done():
		return nil
	case <-l.reg.closed:
	}
	if ctx.Err() == nil {
		fn(l.LinkState())
	}
	<-ctx.Done()
	return nil
}

// Capabilities implements registryclient.Client.
func (l *Local) Capabilities() rc.Capabilities { return capabilities(l.ttl, l.reg.limits.Metadata) }

func capabilities(ttl time.Duration, metadata int) rc.Capabilities {
	return rc.Capabilities{SaysOwn: true, Leases: true, LeaseTTL: ttl, MergesEqual: true, ConditionalWithdraw: true, Native: true, MetadataLimit: metadata}
}
