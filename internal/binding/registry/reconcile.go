package registry

import (
	"context"
	"time"

	"zkbridge/registryclient"
)

// reconcile compares, each time that the link comes up, the services under
// which the registry has records of ours with what we believe.
func (p *publisher) reconcile(ctx context.Context) {
	attempt := 0
	for {
		select {
		case <-p.again:
		case <-ctx.Done():
			return
		}
		asked := time.Now()
		ask, cancel := context.WithTimeout(ctx, p.cfg.PublishTimeout)
		own, err := p.cfg.Client.OwnServices(ask, p.cfg.Owner)
		cancel()
		if err == nil {
			attempt = 0
			p.compare(own, asked)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		attempt++
		if attempt == 1 {
			p.log.Warn("asking the registry for our services fails: it is repeated", "error", err)
		}
		t := time.NewTimer(p.backoff(attempt))
		select {
		case <-t.C:
			p.ask()
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// ask has our services compared, if the link is up; else that happens when it
// comes up.
func (p *publisher) ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.up {
		return
	}
	select {
	case p.again <- struct{}{}:
	default:
	}
}

// compare publishes whole, even if that is an empty list, what the registry has
// of an earlier life of ours, and what it should have and has not. What was
// accepted after the question was asked is not in the answer.
func (p *publisher) compare(own []registryclient.Service, asked time.Time) {
	published := p.table.Services()
	again, ended := p.compareLists(own, published, asked)
	for _, svc := range ended {
		p.table.Published(svc, nil, time.Now())
	}
	if again > 0 {
		p.log.Info("publishing again what the registry has of an earlier life of this bridge, or has lost", "services", again)
	}
}

// compareLists marks what is to be published again and says how much that is.
// ended are those of the services called published that went with an earlier
// life of ours.
func (p *publisher) compareLists(own, published []registryclient.Service, asked time.Time) (again int, ended []registryclient.Service) {
	now := time.Now()
	held := make(map[registryclient.Service]bool, len(own))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counted.Reconciliations++
	for _, svc := range own {
		held[svc] = true
		if o := p.outgoingLocked(svc); len(o.accepted) == 0 && o.acceptedAt.Before(asked) {
			o.force = asked
			p.dueLocked(o, now)
			again++
		}
	}
	for svc, o := range p.services {
		if len(o.accepted) > 0 && !held[svc] && o.acceptedAt.Before(asked) {
			o.force = asked
			p.dueLocked(o, now)
			again++
		}
	}
	for _, svc := range published {
		if o := p.services[svc]; !held[svc] && (o == nil || len(o.accepted) == 0 && !o.busy) {
			ended = append(ended, svc)
		}
	}
	return again, ended
}
