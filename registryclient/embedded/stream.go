package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/internal/latest"
)

// stream is a mirror of one group of a remote registry, fed by its event
// stream.
//
// A restarted registry may not have heard of everybody yet. So what was known
// before from others and is missing in its first lists is *carried* along until
// the registry has named it again or says that it is settled.
type stream struct {
	key   groupKey
	owner ownerKey
	users int // guarded by Remote.mu
	names *latest.Value[[]string]

	// guarded by mu
	mu           sync.Mutex
	complete     bool                     // there was a first complete picture
	epoch        string                   // of the registry that it came from
	position     string                   // where to resume
	said         []string                 // the names, as the registry said them last
	lists        map[string]rc.Snapshot   // the lists that are not empty, likewise
	carried      map[string][]rc.Observed // by service
	carriedNames []string
	followed     map[string]*followed
}

type followed struct {
	feed  *latest.Value[rc.Snapshot]
	users int
}

func newStream(k groupKey, owner ownerKey) *stream {
	return &stream{key: k, owner: owner, names: latest.New[[]string](), lists: make(map[string]rc.Snapshot), followed: make(map[string]*followed)}
}

// follow gives the feed of one service.
func (s *stream) follow(name string) *latest.Value[rc.Snapshot] {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.followed[name]
	if f == nil {
		f = &followed{feed: latest.New[rc.Snapshot]()}
		s.followed[name] = f
		if s.complete {
			f.feed.Put(s.shownLocked(name))
		}
	}
	f.users++
	return f.feed
}

func (s *stream) unfollow(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.followed[name]; f != nil {
		if f.users--; f.users == 0 {
			delete(s.followed, name)
		}
	}
}

// shownLocked gives the list of a service as followers see it: what the
// registry said and what is carried.
func (s *stream) shownLocked(name string) rc.Snapshot {
	list, known := s.lists[name]
	if !known {
		list = rc.Snapshot{Service: rc.Service{Namespace: s.key.namespace, Group: s.key.group, Name: name}}
	}
	if c := s.carried[name]; len(c) > 0 {
		list.Instances = append(slices.Clone(list.Instances), c...)
		slices.SortStableFunc(list.Instances, func(a, b rc.Observed) int { return a.Instance.Compare(b.Instance) })
	}
	return list
}

// batch is what the stream brought up to a "synced".
type batch struct {
	resumed bool
	names   []string // nil: unchanged
	lists   map[string]rc.Snapshot
	synced  syncedEvent
	id      string
}

// apply takes a batch over, in one step for each follower.
func (s *stream) apply(b batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	touched := make(map[string]bool)
	if s.complete && s.epoch != b.synced.Epoch && !b.synced.Settled {
		s.carryLocked()
	}
	for name := range s.lists {
		// A whole picture has every list; a resumed one lacks those that became
		// empty and were forgotten, whose names are gone too.
		_, sent := b.lists[name]
		_, named := slices.BinarySearch(b.names, name)
		if !sent && (!b.resumed || b.names != nil && !named) {
			delete(s.lists, name)
			touched[name] = true
		}
	}
	for name, list := range b.lists {
		touched[name] = true
		if len(list.Instances) == 0 {
			delete(s.lists, name)
		} else {
			s.lists[name] = list
		}
		s.dropSeenLocked(name, list.Instances)
	}
	if b.names != nil {
		s.said = b.names
	}
	if b.synced.Settled {
		for name := range s.carried {
			touched[name] = true
		}
		s.carried, s.carriedNames = nil, nil
	}
	first := !s.complete
	s.complete, s.epoch, s.position = true, b.synced.Epoch, b.id

	if shown := s.shownNamesLocked(); first || !slices.Equal(shown, s.lastNames()) {
		s.names.Put(shown)
	}
	for name, f := range s.followed {
		if first || touched[name] {
			f.feed.Put(s.shownLocked(name))
		}
	}
}

// carryLocked begins to carry what followers see now, less what is our own:
// that is published again by ourselves.
func (s *stream) carryLocked() {
	carried := make(map[string][]rc.Observed)
	for name := range s.lists {
		carried[name] = nil
	}
	for name := range s.carried {
		carried[name] = nil
	}
	for name := range carried {
		for _, o := range s.shownLocked(name).Instances {
			if o.Own != rc.Yes {
				carried[name] = append(carried[name], o)
			}
		}
		if len(carried[name]) == 0 {
			delete(carried, name)
		}
	}
	s.carriedNames = s.lastNames()
	s.carried = carried
}

// dropSeenLocked stops carrying addresses that the registry has named itself.
func (s *stream) dropSeenLocked(name string, seen []rc.Observed) {
	left := s.carried[name]
	if len(left) == 0 {
		return
	}
	left = slices.DeleteFunc(slices.Clone(left), func(c rc.Observed) bool {
		return slices.ContainsFunc(seen, func(o rc.Observed) bool { return o.Own != rc.Yes && o.Address() == c.Address() })
	})
	if len(left) == 0 {
		delete(s.carried, name)
	} else {
		s.carried[name] = left
	}
}

func (s *stream) shownNamesLocked() []string {
	if len(s.carriedNames) == 0 {
		return s.said
	}
	all := slices.Concat(s.said, s.carriedNames)
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *stream) lastNames() []string {
	names, _, _ := s.names.Look()
	return names
}

// snapshotOf makes a snapshot of a list with every record.
func (s *stream) snapshotOf(l InstanceList) rc.Snapshot {
	snap := rc.Snapshot{Service: rc.Service{Namespace: l.Namespace, Group: l.Group, Name: l.Service}, Revision: l.Revision, Instances: make([]rc.Observed, 0, len(l.Instances))}
	reader := s.owner.String()
	for _, r := range l.Instances {
		holder := ownerKey{cluster: "\x00"} // somebody else
		if r.Owner == reader {
			holder = s.owner
		}
		snap.Instances = appendObserved(snap.Instances, r.Instance(), holder, s.owner)
	}
	return snap
}

// keepStream reads the stream of a group until ctx ends, opening it again with growing
// pauses.
func (r *Remote) keepStream(ctx context.Context, s *stream) {
	pauses := retries{cfg: &r.cfg}
	defer func() { r.health.streamGood(s) }()
	for {
		err := r.readStream(ctx, s, func() {
			pauses.reset()
			if r.health.streamGood(s) {
				r.log.Info("link to the registry is up")
			}
		})
		if ctx.Err() != nil {
			return
		}
		r.count.reconnects.Add(1)
		if r.health.streamBroken(s, fmt.Sprint(err)) {
			r.log.Warn("link to the registry lost", "err", err)
		}
		poke(r.renew)
		timer := time.NewTimer(pauses.pause())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// readStream reads one connection; good is called when the first batch has
// come.
func (r *Remote) readStream(ctx context.Context, s *stream, good func()) error {
	s.mu.Lock()
	position := s.position
	s.mu.Unlock()
	b := batch{lists: make(map[string]rc.Snapshot)}
	first := true
	service := rc.Service{Namespace: s.key.namespace, Group: s.key.group}
	return r.api.stream(ctx, "subscribe", service, groupURL(s.key)+"/watch?instances=true", position, func(e event) error {
		switch e.name {
		case "hello":
			var m helloEvent
			if err := json.Unmarshal(e.data, &m); err != nil {
				return err
			}
			b.resumed = m.Resumed
			r.mu.Lock()
			lease := r.lease
			r.mu.Unlock()
			if lease != "" && epochOf(lease) != m.Epoch {
				r.lostBy(lease, "the registry was restarted; publishing everything again")
			}
		case "names":
			m := namesEvent{Names: []string{}}
			if err := json.Unmarshal(e.data, &m); err != nil {
				return err
			}
			b.names = m.Names
		case "instances":
			var l InstanceList
			if err := json.Unmarshal(e.data, &l); err != nil {
				return err
			}
			b.lists[l.Service] = s.snapshotOf(l)
		case "synced":
			if err := json.Unmarshal(e.data, &b.synced); err != nil {
				return err
			}
			b.id = e.id
			s.apply(b)
			b = batch{resumed: true, lists: make(map[string]rc.Snapshot)}
			if first {
				first = false
				good()
			}
		}
		return nil
	})
}
