package nacos

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/internal/latest"
)

// group is where the names of services are listed.
type group struct{ namespace, name string }

// nameList is a group that somebody follows. The server is asked again and again;
// where it can tell of services that come and go (fuzzy watch, 3.x), what it tells
// makes us ask at once, and otherwise we ask less often. So its limits, above which
// it says nothing, only make us slower.
type nameList struct {
	// set at construction
	c     *Client
	group group
	value *latest.Value[[]string]
	wake  chan struct{} // holds one token when it should be asked now

	// owned by run
	fuzzyOn uint64 // id of the session on which the fuzzy watch was tried
	fuzzy   bool   // and works

	// guarded by Client.mu
	refs   int
	known  bool
	shown  []string
	settle time.Time // until when names are kept that the server does not list
}

// WatchNames implements registryclient.Names.
func (c *Client) WatchNames(ctx context.Context, namespace, name string, fn func(names []string)) error {
	if why := checkGroup(namespace, name); why != "" {
		return &rc.Error{Op: "names", Service: rc.Service{Namespace: namespace, Group: name}, Kind: rc.Invalid, Err: errors.New(why)}
	}
	if ctx.Err() != nil {
		return nil
	}
	g := group{namespace, name}
	c.mu.Lock()
	l := c.groups[g]
	if l == nil {
		l = &nameList{c: c, group: g, value: latest.New[[]string](), wake: make(chan struct{}, 1)}
		c.groups[g] = l
		c.goLocked(l.run)
	}
	l.refs++
	c.mu.Unlock()

	l.value.Follow(ctx, fn)

	c.mu.Lock()
	defer c.mu.Unlock()
	if l.refs--; l.refs == 0 {
		l.look()
	}
	return nil
}

// look makes run ask now.
func (l *nameList) look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *nameList) unsettleLocked(until time.Time) {
	if l.known {
		l.settle = until
	}
	l.look()
}

// lookPause is the least time between two questions, whatever the server tells.
const lookPause = 100 * time.Millisecond

// run asks until nobody follows any more.
func (l *nameList) run(ctx context.Context) {
	c := l.c
	for {
		c.mu.Lock()
		if l.refs == 0 {
			delete(c.groups, l.group)
			c.mu.Unlock()
			return
		}
		s := c.conns[0].session
		c.mu.Unlock()
		interval := c.cfg.NamesInterval
		if s != nil {
			names, err := l.ask(ctx, s)
			if err == nil {
				l.take(names)
				l.watch(ctx, s, names)
			}
			if l.fuzzy && l.fuzzyOn == s.id {
				interval *= 10
			}
		}
		t := time.NewTimer(interval)
		select {
		case <-t.C:
		case <-l.wake:
			pause(ctx, min(lookPause, c.cfg.NamesInterval))
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// allNames is a page that holds them all. Several pages would miss names while
// services come and go, because a server lists them in no order.
const allNames = 1_000_000

func (l *nameList) ask(ctx context.Context, s *session) ([]string, error) {
	a, err := s.call(ctx, "ServiceListRequest", serviceListRequest{
		serviceFields: serviceFields{Namespace: l.group.namespace, GroupName: l.group.name, Module: moduleNaming},
		PageNo:        1, PageSize: allNames,
	})
	if err != nil {
		return nil, err
	}
	l.c.counters.namesLists.Add(1)
	names := a.ServiceNames
	for n, name := range names {
		// Some versions put the group in front.
		names[n] = strings.TrimPrefix(name, l.group.name+"@@")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (l *nameList) take(names []string) {
	c := l.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !l.settle.IsZero() {
		if time.Now().Before(l.settle) {
			names = slices.Concat(names, l.shown)
			slices.Sort(names)
			names = slices.Compact(names)
		} else {
			l.settle = time.Time{}
		}
	}
	if l.known && slices.Equal(names, l.shown) {
		return
	}
	l.known, l.shown = true, names
	l.value.Put(names)
}

// watch asks the server once a session to tell of names that come and go.
func (l *nameList) watch(ctx context.Context, s *session, names []string) {
	if l.fuzzyOn == s.id || !s.can["fuzzyWatch"] {
		return
	}
	received := make([]string, len(names))
	for n, name := range names {
		received[n] = l.group.namespace + "@@" + l.group.name + "@@" + name
	}
	_, err := s.call(ctx, "NamingFuzzyWatchRequest", namingFuzzyWatchRequest{
		Namespace: l.group.namespace, Module: moduleNaming, WatchType: "WATCH", Initializing: true,
		GroupKeyPattern: l.group.namespace + ">>" + l.group.name + ">>*", ReceivedGroupKeys: received,
	})
	l.fuzzyOn, l.fuzzy = s.id, err == nil
	if err != nil && ctx.Err() == nil && s.alive() {
		l.c.log.Info("Nacos does not tell of new services by itself here; they are asked for",
			"namespace", l.group.namespace, "group", l.group.name, "interval", l.c.cfg.NamesInterval, "err", err)
	}
}
