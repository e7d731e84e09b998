package registry

import (
	"slices"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// begin notes when we began. If what an earlier life has left in the registry is
// to stay for a while, nothing is published before it is known, for a list that
// is published replaces it.
func (p *publisher) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cfg.Leftovers > 0 && p.cfg.Client.Capabilities().SaysOwn {
		p.holdBack, p.until = true, now.Add(p.cfg.Leftovers)
	}
}

// imported says that every service has been seen.
func (p *publisher) imported() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holdBack = false
	p.wakeLocked()
}

// left is told what the registry lists of a service when it is first seen.
func (p *publisher) left(s registryclient.Snapshot) {
	var list []claims.Listed
	for _, o := range s.Instances {
		if o.Own == registryclient.Yes {
			list = append(list, claims.Listed{Instance: o.Instance, At: claims.Endpoint(o.Instance)})
		}
	}
	if len(list) == 0 {
		return
	}
	now := time.Now()
	if p.leave(s.Service, list, now) {
		p.log.Info("an earlier life of this bridge has published instances: they stay for a while, for it may be that their clients are about to come back",
			"service", s.Service.String(), "instances", len(list), "for", p.until.Sub(now).Round(time.Millisecond))
	}
}

// leave keeps the list in the registry, unless we have published one of our own.
func (p *publisher) leave(svc registryclient.Service, list []claims.Listed, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !now.Before(p.until) {
		return false
	}
	o := p.outgoingLocked(svc)
	if !o.acceptedAt.IsZero() {
		return false
	}
	o.left = list
	p.dueLocked(o, now)
	return true
}

// stillLeft forgets what is claimed now: if that goes again, it is gone.
func (p *publisher) stillLeft(o *outgoing, claimed []claims.Listed) []claims.Listed {
	p.mu.Lock()
	defer p.mu.Unlock()
	by := byEndpoint(claimed)
	o.left = slices.DeleteFunc(slices.Clone(o.left), func(l claims.Listed) bool {
		_, ok := by[l.At]
		return ok
	})
	return o.left
}

// keep adds to a plan, until a time, what nothing in it stands for.
func (p *plan) keep(list []claims.Listed, until, now time.Time) {
	if !now.Before(until) {
		return
	}
	planned := byEndpoint(p.list)
	for _, l := range list {
		if _, ok := planned[l.At]; !ok {
			p.list = append(p.list, l)
		}
		delete(p.going, l.At)
	}
	sortListed(p.list)
	if p.next.IsZero() || until.Before(p.next) {
		p.next = until
	}
}
