package registrytest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/internal/latest"
)

// Faulty is a client whose registry, or whose way to it, misbehaves as told.
// Without faults it is the client that it wraps. A change of faults that
// concerns deliveries makes subscriptions deliver again. Safe for concurrent use.
type Faulty struct {
	inner rc.Client
	link  *latest.Value[rc.LinkState]

	// guarded by mu
	mu      sync.Mutex
	faults  faults
	changed chan struct{} // closed at the next change of faults
	innerUp rc.LinkState
}

type faults struct {
	version       int
	cut           string
	since         time.Time
	delayPublish  time.Duration
	delayDelivery time.Duration
	failPublish   func(rc.Publication) error
	lie           func(rc.Snapshot) rc.Snapshot
	lieNames      func([]string) []string
	dropMetadata  []string
	cannotSayOwn  bool
}

var _ rc.Client = (*Faulty)(nil)

// NewFaulty wraps c.
func NewFaulty(c rc.Client) *Faulty {
	f := &Faulty{inner: c, link: latest.New[rc.LinkState](), changed: make(chan struct{})}
	f.innerUp = c.LinkState()
	f.link.Put(f.innerUp)
	return f
}

func (f *Faulty) change(fn func(*faults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn(&f.faults)
	f.faults.version++
	close(f.changed)
	f.changed = make(chan struct{})
	f.linkLocked()
}

func (f *Faulty) linkLocked() {
	now := f.innerUp
	if f.faults.cut != "" {
		now = rc.LinkState{Reason: f.faults.cut, Since: f.faults.since}
	}
	if old, _, _ := f.link.Look(); old != now {
		f.link.Put(now)
	}
}

func (f *Faulty) look() (faults, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.faults, f.changed
}

// Cut takes the link down: calls fail as Unavailable, nothing is delivered. What
// was published stays in the registry.
func (f *Faulty) Cut(reason string) {
	f.change(func(x *faults) { x.cut, x.since = reason, time.Now() })
}

// Heal takes the link up again; every subscription gets the newest state.
func (f *Faulty) Heal() { f.change(func(x *faults) { x.cut = "" }) }

// Delay makes each Publish and each delivery take that much longer.
func (f *Faulty) Delay(publish, delivery time.Duration) {
	f.change(func(x *faults) { x.delayPublish, x.delayDelivery = publish, delivery })
}

// FailPublish asks fn before each Publish: an error is the result, nil lets it
// through. A nil fn ends it.
func (f *Faulty) FailPublish(fn func(rc.Publication) error) {
	f.change(func(x *faults) { x.failPublish = fn })
}

// Lie passes every list through fn, which must not change what it is given but
// may return something else. A nil fn ends it.
func (f *Faulty) Lie(fn func(rc.Snapshot) rc.Snapshot) { f.change(func(x *faults) { x.lie = fn }) }

// LieNames is Lie for the names of services.
func (f *Faulty) LieNames(fn func([]string) []string) { f.change(func(x *faults) { x.lieNames = fn }) }

// LieEmpty shows every list as empty, or ends that.
func (f *Faulty) LieEmpty(on bool) {
	if !on {
		f.Lie(nil)
		return
	}
	f.Lie(func(s rc.Snapshot) rc.Snapshot {
		s.Instances = nil
		return s
	})
}

// DropMetadata removes these keys from all that is observed, as a registry does
// that does not keep them. Without keys it ends.
func (f *Faulty) DropMetadata(keys ...string) {
	f.change(func(x *faults) { x.dropMetadata = keys })
}

// CannotSayOwn makes everything observed of unknown ownership. It is called
// before the client is used: capabilities do not change.
func (f *Faulty) CannotSayOwn() { f.change(func(x *faults) { x.cannotSayOwn = true }) }

// wait lets d pass, less if ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Publish implements registryclient.Publisher.
func (f *Faulty) Publish(ctx context.Context, p rc.Publication) error {
	x, _ := f.look()
	if err := wait(ctx, x.delayPublish); err != nil {
		return err
	}
	if x, _ = f.look(); x.cut != "" {
		return &rc.Error{Op: "publish", Service: p.Service, Kind: rc.Unavailable, Err: errors.New(x.cut)}
	}
	if x.failPublish != nil {
		if err := x.failPublish(p); err != nil {
			return err
		}
	}
	return f.inner.Publish(ctx, p)
}

// OwnServices implements registryclient.OwnServices.
func (f *Faulty) OwnServices(ctx context.Context, o rc.Owner) ([]rc.Service, error) {
	if x, _ := f.look(); x.cut != "" {
		return nil, &rc.Error{Op: "own services", Kind: rc.Unavailable, Err: errors.New(x.cut)}
	}
	return f.inner.OwnServices(ctx, o)
}

// Subscribe implements registryclient.Subscriber.
func (f *Faulty) Subscribe(ctx context.Context, s rc.Service, fn func(rc.Snapshot)) error {
	return deliver(ctx, f, func(ctx context.Context, put func(rc.Snapshot)) error { return f.inner.Subscribe(ctx, s, put) },
		func(x faults, snap rc.Snapshot) { fn(x.distort(snap)) })
}

// WatchNames implements registryclient.Names.
func (f *Faulty) WatchNames(ctx context.Context, namespace, group string, fn func([]string)) error {
	return deliver(ctx, f, func(ctx context.Context, put func([]string)) error {
		return f.inner.WatchNames(ctx, namespace, group, put)
	},
		func(x faults, names []string) {
			if x.lieNames != nil {
				names = x.lieNames(names)
			}
			fn(names)
		})
}

// distort makes of a list what is to be seen of it.
func (x faults) distort(s rc.Snapshot) rc.Snapshot {
	s.Instances = slices.Clone(s.Instances)
	for k := range s.Instances {
		o := &s.Instances[k]
		if x.cannotSayOwn {
			o.Own = rc.Unknown
		}
		if len(x.dropMetadata) > 0 {
			o.Instance = o.Clone()
			for _, key := range x.dropMetadata {
				delete(o.Metadata, key)
			}
		}
	}
	if x.lie != nil {
		s = x.lie(s)
	}
	return s
}

// deliver runs follow and hands on what it puts, under the faults of f.
func deliver[T any](ctx context.Context, f *Faulty, follow func(context.Context, func(T)) error, tell func(faults, T)) error {
	ctx, cancel := context.WithCancel(ctx)
	in := latest.New[T]()
	ended := make(chan error, 1)
	var following sync.WaitGroup
	following.Go(func() { ended <- follow(ctx, in.Put) })
	defer following.Wait()
	defer cancel()
	var told <-chan struct{} // of the value that was told last
	version := -1
	for {
		x, changed := f.look()
		_, set, newer := in.Look()
		if set && x.cut == "" && (newer != told || x.version != version) {
			if wait(ctx, x.delayDelivery) != nil {
				return nil
			}
			if x, changed = f.look(); x.cut == "" {
				var v T
				v, _, newer = in.Look()
				told, version = newer, x.version
				tell(x, v)
			}
		}
		select {
		case <-newer:
		case <-changed:
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// LinkState implements registryclient.Link.
func (f *Faulty) LinkState() rc.LinkState {
	if x, _ := f.look(); x.cut != "" {
		return rc.LinkState{Reason: x.cut, Since: x.since}
	}
	return f.inner.LinkState()
}

// WatchLink implements registryclient.Link. It follows the wrapped client's
// link while Run runs.
func (f *Faulty) WatchLink(ctx context.Context, fn func(rc.LinkState)) error {
	f.link.Follow(ctx, fn)
	return nil
}

// Capabilities implements registryclient.Client.
func (f *Faulty) Capabilities() rc.Capabilities {
	c := f.inner.Capabilities()
	if x, _ := f.look(); x.cannotSayOwn {
		c.SaysOwn = false
	}
	return c
}

// Run implements registryclient.Client.
func (f *Faulty) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		f.inner.WatchLink(ctx, func(s rc.LinkState) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.innerUp = s
			f.linkLocked()
		})
	})
	defer watching.Wait()
	defer cancel()
	return f.inner.Run(ctx)
}
