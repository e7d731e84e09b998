package embedded

import (
	"context"

	rc "zkbridge/registryclient"
)

// enter counts a subscription to a service and gives the service; leave takes
// it back.
func (r *Registry) enter(key rc.Service) (*service, *Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.openLocked(); p != nil {
		return nil, p
	}
	s := r.serviceLocked(key)
	s.watches++
	r.watches++
	return s, nil
}

func (r *Registry) leave(s *service) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.watches--
	r.watches--
	r.tidyLocked(s)
}

func (r *Registry) enterGroup(k groupKey) (*group, *Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.openLocked(); p != nil {
		return nil, p
	}
	g := r.groupLocked(k)
	g.watches++
	r.watches++
	return g, nil
}

func (r *Registry) leaveGroup(g *group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g.watches--
	r.watches--
	r.tidyGroupLocked(g)
}

// watchRoom refuses one more subscription from outside when there are too many.
func (r *Registry) watchRoom() *Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watches >= r.limits.Watches {
		return problem(codeUnavailable, "raise the registry's limit of watches, or watch whole groups", "there are %d watches, which is the limit", r.watches)
	}
	return nil
}

// look gives the present list of a service, and a channel that is closed when
// there is a newer one.
func (r *Registry) look(s *service) (*view, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return s.viewLocked(), s.changed
}

// follow calls fn with the list of a service, serially and latest-wins, until
// ctx or the registry ends or fn fails; it returns nil in the first two cases.
func (r *Registry) follow(ctx context.Context, key rc.Service, fn func(*view) error) error {
	if p := r.limits.checkService(key); p != nil {
		return failed("subscribe", key, p)
	}
	s, p := r.enter(key)
	if p != nil {
		return failed("subscribe", key, p)
	}
	defer r.leave(s)
	for {
		v, newer := r.look(s)
		if err := fn(v); err != nil {
			return err
		}
		select {
		case <-newer:
		case <-ctx.Done():
			return nil
		case <-r.closed:
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// followNames is follow for the names of a group.
func (r *Registry) followNames(ctx context.Context, k groupKey, fn func(names []string, revision uint64) error) error {
	if p := r.limits.checkGroup(k.namespace, k.group); p != nil {
		return failed("names", rc.Service{Namespace: k.namespace, Group: k.group}, p)
	}
	g, p := r.enterGroup(k)
	if p != nil {
		return failed("names", rc.Service{Namespace: k.namespace, Group: k.group}, p)
	}
	defer r.leaveGroup(g)
	last, first := uint64(0), true
	for {
		r.mu.Lock()
		names, revision, newer := g.namesLocked(), g.namesRevision, g.changed
		r.mu.Unlock()
		if first || revision != last {
			first, last = false, revision
			if err := fn(names, revision); err != nil {
				return err
			}
		}
		select {
		case <-newer:
		case <-ctx.Done():
			return nil
		case <-r.closed:
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// viewOf gives the present list of a service, which need not exist.
func (r *Registry) viewOf(key rc.Service) (*view, *Problem) {
	if p := r.limits.checkService(key); p != nil {
		return nil, p
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.services[key]; s != nil {
		return s.viewLocked(), nil
	}
	return &view{service: key}, nil
}
