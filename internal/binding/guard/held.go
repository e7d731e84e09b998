package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// item is an address that is held. It is guarded by Guard.mu.
type item struct {
	key      string
	service  registryclient.Service
	at       string // "ip:port"
	protocol string
	why      string
	class    Class
	since    time.Time
	deadline time.Time
	probe    time.Time // when it is asked next
	refused  int       // probes in a row
	kept     bool      // by an operator: only a new claim, a delete or the operator ends it
	probing  bool

	path       string // of a claim of ZooKeeper's side
	generation claims.Generation
	imports    *service // of an instance of the registry
}

func (g *Guard) newItem(key string, now time.Time) *item {
	return &item{key: key, since: now, deadline: now.Add(g.cfg.Hold), probe: now}
}

// Held is an address that is held, as operators see it.
type Held struct {
	Key      string // names it for Keep and Drop: the path of its znode, or "service ip:port"
	Service  registryclient.Service
	Instance string // "ip:port"
	Class    string
	Why      string
	Since    time.Time
	Until    time.Time // when its time is over, unless a probe is answered before
	Refused  int       // probes refused in a row
	Kept     bool      // by an operator
}

// Held lists what is held, by key.
func (g *Guard) Held() []Held {
	g.collect(time.Now())
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]Held, 0, len(g.items))
	for _, it := range g.items {
		list = append(list, Held{
			Key: it.key, Service: it.service, Instance: it.at, Class: it.class.String(), Why: it.why,
			Since: it.since, Until: it.deadline, Refused: it.refused, Kept: it.kept,
		})
	}
	slices.SortFunc(list, func(a, b Held) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// Keep has an operator vouch for an address that is held: probes and time do not
// end it any more.
func (g *Guard) Keep(key string) error {
	g.collect(time.Now())
	g.mu.Lock()
	defer g.mu.Unlock()
	it := g.items[key]
	if it == nil {
		return fmt.Errorf("nothing is held under %q; zkbridge held list shows what is", key)
	}
	it.kept = true
	g.log.Info("an operator keeps a held address", "address", key)
	return nil
}

// Drop has an operator end an address that is held.
func (g *Guard) Drop(key string) error {
	g.collect(time.Now())
	g.mu.Lock()
	it := g.items[key]
	g.mu.Unlock()
	if it == nil {
		return fmt.Errorf("nothing is held under %q; zkbridge held list shows what is", key)
	}
	g.end(it, Operator)
	return nil
}

// collect notes what the book holds of ZooKeeper's side.
func (g *Guard) collect(now time.Time) {
	held := g.cfg.Book.Held()
	g.mu.Lock()
	defer g.mu.Unlock()
	there := make(map[string]bool, len(held))
	for _, h := range held {
		there[h.Path] = true
		if it := g.items[h.Path]; it != nil && it.generation == h.Generation {
			continue
		}
		it := g.newItem(h.Path, now)
		it.service, it.at, it.why, it.class, it.protocol = h.Service, h.At, h.Why, Expired, h.Address.Protocol
		it.path, it.generation = h.Path, h.Generation
		g.items[h.Path] = it
		g.newsLocked(kind(h.Why), h.Path)
	}
	for key, it := range g.items {
		if it.path != "" && !there[key] {
			delete(g.items, key)
			g.ended[Adopted]++
		}
	}
}

// review ends what is over and probes what is due.
func (g *Guard) review(ctx context.Context, now time.Time, probes *sync.WaitGroup) {
	g.collect(now)
	g.mu.Lock()
	var due, over, asked []*item
	for _, it := range g.items {
		switch {
		case it.kept || it.probing:
		case !now.Before(it.deadline):
			over = append(over, it)
		case g.cfg.Probe != ProbeOff && !now.Before(it.probe):
			due = append(due, it)
		}
		if it.imports != nil {
			asked = append(asked, it)
		}
	}
	slices.SortFunc(due, func(a, b *item) int { return a.probe.Compare(b.probe) })
	if free := g.cfg.Probes - g.probing; len(due) > free {
		due = due[:max(free, 0)]
	}
	for _, it := range due {
		it.probing = true
	}
	g.probing += len(due)
	g.mu.Unlock()

	for _, it := range asked {
		if g.cfg.Book.Local(it.service, it.at) {
			g.end(it, Adopted)
		}
	}
	slices.SortFunc(over, func(a, b *item) int { return a.deadline.Compare(b.deadline) })
	for _, it := range over {
		size := g.cfg.Book.Size(it.service)
		g.mu.Lock()
		why := g.takeLocked(it.service, size, now)
		g.mu.Unlock()
		if why == "" {
			g.end(it, TimeOut)
		}
	}
	for _, it := range due {
		probes.Go(func() { g.ask(ctx, it) })
	}
}

// ask probes an address that is held.
func (g *Guard) ask(ctx context.Context, it *item) {
	answer := g.dial(ctx, it)
	now := time.Now()
	g.mu.Lock()
	g.probing--
	it.probing = false
	it.probe = now.Add(g.cfg.ProbeInterval)
	if ctx.Err() != nil || g.items[it.key] != it {
		g.mu.Unlock()
		return
	}
	g.probes.Add(1)
	gone := false
	switch answer {
	case answered:
		g.answers.Add(1)
		it.refused = 0
		it.deadline = earlier(now.Add(g.cfg.Hold), it.since.Add(g.cfg.HoldMax))
	case refused:
		g.refusals.Add(1)
		it.refused++
		gone = it.refused >= 2 && !it.kept
	case nothing:
		it.refused = 0
	}
	g.mu.Unlock()
	if gone {
		g.end(it, Refusal)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// end ends an address that is held, unless it has ended meanwhile.
func (g *Guard) end(it *item, e Evidence) {
	why := "held: " + e.String()
	if it.imports == nil {
		if g.cfg.Book.Drop(it.path, it.generation, why) {
			g.forget(it.key, e)
		}
	} else {
		s := it.imports
		s.mu.Lock()
		defer s.mu.Unlock()
		g.mu.Lock()
		still := g.items[it.key] == it
		g.mu.Unlock()
		if !still {
			return
		}
		delete(s.held, it.at)
		g.forget(it.key, e)
		g.apply(s)
	}
	if e != Adopted {
		g.log.Info("a held address has ended", "address", it.key, "evidence", e.String(), "held", time.Since(it.since).Round(time.Millisecond), "was", it.why)
	}
}

// forget drops an item.
func (g *Guard) forget(key string, e Evidence) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.items[key] != nil {
		delete(g.items, key)
		g.ended[e]++
	}
}
