package embedded

import (
	"container/list"
	"maps"
	"slices"
	"time"

	rc "zkbridge/registryclient"
)

// service is one service and everything registered under it. Guarded by
// Registry.mu; what native.instance and owned.instances refer to is never
// changed once stored.
type service struct {
	key      rc.Service
	group    *group
	place    *list.Element // in group.order
	native   map[string]*native
	owned    map[ownerKey]*owned // empty lists too: they remember their generation
	count    int                 // instances, all publishers together
	listed   bool                // its name is shown
	linger   *deadline           // queued while it is listed and empty
	revision uint64              // of the last change of the list
	view     *view               // nil when out of date
	changed  chan struct{}       // closed at the next change
	watches  int
}

// native is an instance that an application registered itself.
type native struct {
	instance rc.Instance
	ttl      time.Duration
	end      *deadline
}

// group is the set of services of one namespace and group. Guarded by
// Registry.mu.
type group struct {
	key           groupKey
	services      map[string]*service
	order         *list.List // of *service, latest change last
	revision      uint64     // of the last change of a list or of the names
	namesRevision uint64
	names         []string      // sorted; nil when out of date
	changed       chan struct{} // closed at the next change
	watches       int
}

type groupKey struct{ namespace, group string }

func groupOf(s rc.Service) groupKey { return groupKey{s.Namespace, s.Group} }

func (r *Registry) groupLocked(k groupKey) *group {
	g := r.groups[k]
	if g == nil {
		g = &group{key: k, services: make(map[string]*service), order: list.New(), changed: make(chan struct{})}
		r.groups[k] = g
	}
	return g
}

// serviceLocked finds or makes the service; whoever makes one and leaves it
// empty calls tidyLocked.
func (r *Registry) serviceLocked(k rc.Service) *service {
	s := r.services[k]
	if s == nil {
		g := r.groupLocked(groupOf(k))
		s = &service{key: k, group: g, native: make(map[string]*native), owned: make(map[ownerKey]*owned), changed: make(chan struct{})}
		s.place = g.order.PushFront(s)
		g.services[k.Name] = s
		r.services[k] = s
	}
	return s
}

// tidyLocked drops the service and its group when nothing refers to them.
func (r *Registry) tidyLocked(s *service) {
	if !s.listed && s.watches == 0 && len(s.native) == 0 && len(s.owned) == 0 && r.services[s.key] == s {
		delete(r.services, s.key)
		delete(s.group.services, s.key.Name)
		s.group.order.Remove(s.place)
	}
	r.tidyGroupLocked(s.group)
}

func (r *Registry) tidyGroupLocked(g *group) {
	if len(g.services) == 0 && g.watches == 0 && r.groups[g.key] == g {
		delete(r.groups, g.key)
	}
}

// listChangedLocked gives the service a new revision, wakes who follows it and
// keeps its name right.
func (r *Registry) listChangedLocked(s *service) {
	r.revision++
	s.revision, s.view = r.revision, nil
	close(s.changed)
	s.changed = make(chan struct{})
	s.group.order.MoveToBack(s.place)
	switch {
	case s.count > 0:
		r.deadlines.remove(s.linger)
		s.linger = nil
		r.listLocked(s, true)
	case s.listed && s.linger == nil:
		s.linger = r.dueLocked(r.cfg.Linger, func() {
			s.linger = nil
			r.listLocked(s, false)
			r.tidyLocked(s)
		})
	}
	r.groupChangedLocked(s.group)
	r.changedLocked()
}

// listLocked shows or hides the name of a service.
func (r *Registry) listLocked(s *service, listed bool) {
	if s.listed == listed {
		return
	}
	r.revision++
	s.listed = listed
	if listed {
		r.count.listed++
	} else {
		r.count.listed--
	}
	s.group.names, s.group.namesRevision = nil, r.revision
	r.groupChangedLocked(s.group)
}

func (r *Registry) groupChangedLocked(g *group) {
	g.revision = r.revision
	close(g.changed)
	g.changed = make(chan struct{})
}

// namesLocked gives the sorted names of the group, shared and unchanging.
func (g *group) namesLocked() []string {
	if g.names == nil {
		g.names = make([]string, 0, len(g.services))
		for _, n := range slices.Sorted(maps.Keys(g.services)) {
			if g.services[n].listed {
				g.names = append(g.names, n)
			}
		}
	}
	return g.names
}

// sinceLocked gives the services whose list changed after the revision since,
// oldest change first; 0 gives all that are listed.
func (g *group) sinceLocked(since uint64) []*service {
	var changed []*service
	for e := g.order.Back(); e != nil; e = e.Prev() {
		s := e.Value.(*service)
		if s.revision <= since {
			break
		}
		if since > 0 || s.listed {
			changed = append(changed, s)
		}
	}
	slices.Reverse(changed)
	return changed
}

// viewLocked gives the list of the service as of now, built at most once for
// each change.
func (s *service) viewLocked() *view {
	if s.view != nil {
		return s.view
	}
	v := &view{service: s.key, revision: s.revision, records: make([]record, 0, s.count)}
	for _, n := range s.native {
		v.records = append(v.records, record{Instance: n.instance, ttl: n.ttl})
	}
	for k, o := range s.owned {
		for _, i := range o.instances {
			v.records = append(v.records, record{Instance: i, owner: k})
		}
	}
	slices.SortFunc(v.records, record.compare)
	s.view = v
	return v
}
