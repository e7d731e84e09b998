package registrytest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/internal/latest"
)

// Fake is a registry in memory with the manners of Nacos: one list a
// connection and service, gone with the connection; equal records are one; it cannot
// say which are ours; disabled instances are not shown; generations mean
// nothing to it. Safe for concurrent use.
type Fake struct {
	mu      sync.Mutex
	down    bool
	native  map[rc.Service]map[string]rc.Instance // by address
	clients map[*FakeClient]bool
	names   map[rc.Service]bool // every service that ever was
	changed chan struct{}       // closed at the next change of anything
}

// NewFake makes an empty registry that is up.
func NewFake() *Fake {
	return &Fake{native: make(map[rc.Service]map[string]rc.Instance), clients: make(map[*FakeClient]bool), names: make(map[rc.Service]bool), changed: make(chan struct{})}
}

// Register puts a native instance under s, or replaces the one of its address.
func (f *Fake) Register(s rc.Service, i rc.Instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.native[s] == nil {
		f.native[s] = make(map[string]rc.Instance)
	}
	f.native[s][i.Address()] = i.Clone()
	f.names[s] = true
	f.changedLocked()
}

// Deregister removes the native instance of that address ("ip:port").
func (f *Fake) Deregister(s rc.Service, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.native[s], address)
	f.changedLocked()
}

// Instances gives what everybody sees under s, sorted.
func (f *Fake) Instances(s rc.Service) []rc.Instance {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listLocked(s)
}

// Stop ends all connections, and with them what they published. Native
// instances stay: their heart-beats would bring them back before anybody could look.
func (f *Fake) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	for c := range f.clients {
		c.disconnectLocked("the registry is down")
	}
	f.changedLocked()
}

// Start takes connections again.
func (f *Fake) Start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = false
	for c := range f.clients {
		c.connectLocked()
	}
	f.changedLocked()
}

func (f *Fake) changedLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Fake) listLocked(s rc.Service) []rc.Instance {
	list := slices.Collect(maps.Values(f.native[s]))
	for c := range f.clients {
		if c.state.Up {
			list = append(list, c.published[s].Instances...)
		}
	}
	list = slices.DeleteFunc(list, func(i rc.Instance) bool { return !i.Enabled })
	slices.SortFunc(list, rc.Instance.Compare)
	return slices.CompactFunc(list, rc.Instance.Equal)
}

// Client makes the client of owner. It is connected while its Run runs.
func (f *Fake) Client(owner rc.Owner) *FakeClient {
	c := &FakeClient{fake: f, owner: owner, published: make(map[rc.Service]rc.Publication), link: latest.New[rc.LinkState]()}
	c.setLocked(rc.LinkState{Reason: "not connected yet", Since: time.Now()}) // not shared yet
	return c
}

// FakeClient is a client of a Fake.
type FakeClient struct {
	// set at construction
	fake  *Fake
	owner rc.Owner
	link  *latest.Value[rc.LinkState]

	// guarded by fake.mu
	state     rc.LinkState
	running   bool
	cut       string
	published map[rc.Service]rc.Publication // what is to be there; withdrawals too
}

var _ rc.Client = (*FakeClient)(nil)

func (c *FakeClient) setLocked(s rc.LinkState) {
	c.state = s
	c.link.Put(s)
}

func (c *FakeClient) disconnectLocked(reason string) {
	c.setLocked(rc.LinkState{Reason: reason, Since: time.Now()})
}

func (c *FakeClient) connectLocked() {
	if c.running && c.cut == "" && !c.fake.down && !c.state.Up {
		c.setLocked(rc.LinkState{Up: true, Since: time.Now()})
	}
}

// Cut breaks the connection until Heal; what was published is gone meanwhile.
func (c *FakeClient) Cut(reason string) {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	c.cut = reason
	c.disconnectLocked(reason)
	c.fake.changedLocked()
}

// Heal lets the client connect again; it publishes everything anew.
func (c *FakeClient) Heal() {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	c.cut = ""
	c.connectLocked()
	c.fake.changedLocked()
}

// Run implements registryclient.Client.
func (c *FakeClient) Run(ctx context.Context) error {
	f := c.fake
	f.mu.Lock()
	f.clients[c], c.running = true, true
	c.connectLocked()
	f.changedLocked()
	f.mu.Unlock()

	<-ctx.Done()

	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.clients, c)
	c.running = false
	c.disconnectLocked("the client has ended")
	f.changedLocked()
	return nil
}

// Publish implements registryclient.Publisher.
func (c *FakeClient) Publish(ctx context.Context, p rc.Publication) error {
	fail := func(kind rc.Kind, why string) error {
		return &rc.Error{Op: "publish", Service: p.Service, Kind: kind, Err: errors.New(why)}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.Owner != c.owner {
		return fail(rc.Invalid, "the owner is not the client's")
	}
	if !legal(p.Service) {
		return fail(rc.Invalid, "the name of the service is not allowed")
	}
	list := make([]rc.Instance, len(p.Instances))
	for k, i := range p.Instances {
		if i.IP == "" || i.Port < 0 || i.Port > 65535 {
			return fail(rc.Invalid, "an address is not allowed")
		}
		list[k] = i.Clone()
	}
	p.Instances = list

	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	if !c.state.Up {
		return fail(rc.Unavailable, c.state.Reason)
	}
	if old, had := c.published[p.Service]; had && p.Generation < old.Generation {
		return fail(rc.Stale, "a newer generation was published")
	}
	c.published[p.Service] = p
	if len(list) > 0 {
		c.fake.names[p.Service] = true
	}
	c.fake.changedLocked()
	return nil
}

func legal(s rc.Service) bool {
	return s.Namespace != "" && s.Group != "" && s.Name != "" && !slices.ContainsFunc([]rune(s.Name), func(r rune) bool { return r <= ' ' })
}

// Subscribe implements registryclient.Subscriber.
func (c *FakeClient) Subscribe(ctx context.Context, s rc.Service, fn func(rc.Snapshot)) error {
	if !legal(s) {
		return &rc.Error{Op: "subscribe", Service: s, Kind: rc.Invalid}
	}
	var last []rc.Instance
	first := true
	return c.follow(ctx, func() func() {
		list := c.fake.listLocked(s)
		if !first && slices.EqualFunc(list, last, rc.Instance.Equal) {
			return nil
		}
		first, last = false, list
		snap := rc.Snapshot{Service: s, Instances: make([]rc.Observed, len(list))}
		for k, i := range list {
			snap.Instances[k] = rc.Observed{Instance: i.Clone()}
		}
		return func() { fn(snap) }
	})
}

// WatchNames implements registryclient.Names.
func (c *FakeClient) WatchNames(ctx context.Context, namespace, group string, fn func([]string)) error {
	if namespace == "" || group == "" {
		return &rc.Error{Op: "names", Service: rc.Service{Namespace: namespace, Group: group}, Kind: rc.Invalid}
	}
	var last []string
	first := true
	return c.follow(ctx, func() func() {
		var names []string
		for s := range c.fake.names {
			if s.Namespace == namespace && s.Group == group {
				names = append(names, s.Name)
			}
		}
		slices.Sort(names)
		if !first && slices.Equal(names, last) {
			return nil
		}
		first, last = false, names
		return func() { fn(names) }
	})
}

// follow calls what look gives, whenever something has changed and the link is
// up. look is called with fake.mu held, what it gives without.
func (c *FakeClient) follow(ctx context.Context, look func() func()) error {
	for ctx.Err() == nil {
		var tell func()
		c.fake.mu.Lock()
		changed := c.fake.changed
		if c.state.Up {
			tell = look()
		}
		c.fake.mu.Unlock()
		if tell != nil {
			tell()
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// OwnServices implements registryclient.OwnServices: what this connection holds.
func (c *FakeClient) OwnServices(_ context.Context, o rc.Owner) ([]rc.Service, error) {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	if !c.state.Up {
		return nil, &rc.Error{Op: "own services", Kind: rc.Unavailable, Err: errors.New(c.state.Reason)}
	}
	var list []rc.Service
	for s, p := range c.published {
		if len(p.Instances) > 0 && o.Same(c.owner) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, rc.Service.Compare)
	return list, nil
}

// LinkState implements registryclient.Link.
func (c *FakeClient) LinkState() rc.LinkState {
	s, _, _ := c.link.Look()
	return s
}

// WatchLink implements registryclient.Link.
func (c *FakeClient) WatchLink(ctx context.Context, fn func(rc.LinkState)) error {
	c.link.Follow(ctx, fn)
	return nil
}

// Capabilities implements registryclient.Client.
func (c *FakeClient) Capabilities() rc.Capabilities {
	return rc.Capabilities{DiesWithConnection: true, MergesEqual: true, Native: true, HidesDisabled: true}
}
