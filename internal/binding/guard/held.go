package guard

import (
	"cmp"
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

	publisher string // the cluster of bridges that published it; "": it registered itself
	open      bool   // judged again after settle
	objected  bool   // one of Guard.objections
	last      bool   // its time is over, and its service has no other

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
		until := it.deadline
		if it.last {
			until = it.since.Add(g.cfg.HoldMax)
		}
		list = append(list, Held{
			Key: it.key, Service: it.service, Instance: it.at, Class: it.class.String(), Why: it.why,
			Since: it.since, Until: until, Refused: it.refused, Kept: it.kept,
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
	there := make(map[string]bool, len(held))
	for _, h := range held {
		there[h.Path] = true
	}
	var gone []*item
	g.mu.Lock()
	for _, h := range held {
		if it := g.items[h.Path]; it != nil && it.generation == h.Generation {
			continue
		}
		it := g.newItem(h.Path, now)
		it.service, it.at, it.why, it.class, it.protocol = h.Service, h.At, h.Why, Expired, h.Address.Protocol
		it.path, it.generation = h.Path, h.Generation
		g.items[h.Path] = it
		g.newsLocked(h.Why, h.Path)
	}
	for _, it := range g.items {
		if it.path != "" && !there[it.path] {
			gone = append(gone, it)
		}
	}
	g.mu.Unlock()
	for _, it := range gone {
		evidence := Word
		if g.cfg.Book.Claimed(it.path) {
			evidence = Adopted
		}
		g.forget(it, evidence)
	}
}

// review ends what is over.
func (g *Guard) review(now time.Time) {
	g.collect(now)
	g.mu.Lock()
	var over, open []*item
	imports := make(map[registryclient.Service][]*item)
	for _, it := range g.items {
		switch {
		case it.open && now.Sub(it.since) >= settle:
			open = append(open, it)
		case !it.kept && !now.Before(it.deadline):
			over = append(over, it)
		}
		if it.imports != nil {
			imports[it.service] = append(imports[it.service], it)
		}
	}
	g.mu.Unlock()

	for svc, list := range imports {
		local := g.cfg.Book.Local(svc)
		for _, it := range list {
			if local[it.at] {
				g.end(it, Adopted)
			}
		}
	}
	slices.SortFunc(open, byAge)
	g.reopen(open, now)
	slices.SortFunc(over, byAge)
	sizes := make(map[registryclient.Service]int)
	for _, it := range over {
		size, known := sizes[it.service]
		if !known {
			size = g.cfg.Book.Size(it.service)
		}
		if g.mayTimeOut(it, size, now) {
			g.end(it, TimeOut)
			size--
		}
		sizes[it.service] = size
	}
}

func byAge(a, b *item) int {
	return cmp.Or(a.deadline.Compare(b.deadline), strings.Compare(a.key, b.key))
}

// mayTimeOut reports whether an address goes whose time is over, of a service with
// size of them. An empty list takes more than time: the last one stays up to the
// maximum.
func (g *Guard) mayTimeOut(it *item, size int, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.items[it.key] != it || it.kept || now.Before(it.deadline) {
		return false
	}
	it.last = size <= 1 && now.Before(it.since.Add(g.cfg.HoldMax))
	return !it.last && g.takeLocked(it.service, it.at, size, g.listed+len(g.items), now) == ""
}

// probe asks the addresses that are due, each once for all that is held of it.
func (g *Guard) probe(ctx context.Context, now time.Time, probes *sync.WaitGroup) {
	if g.cfg.Probe == ProbeOff {
		return
	}
	g.mu.Lock()
	var due []target
	items := make(map[target][]*item)
	if g.probing < g.cfg.Probes {
		for _, it := range g.items {
			if it.kept || it.probing || now.Before(it.probe) {
				continue
			}
			t := target{it.at, g.cfg.Probe == ProbeDubbo && it.protocol == "dubbo"}
			if items[t] == nil {
				due = append(due, t)
			}
			items[t] = append(items[t], it)
		}
		first := func(t target) time.Time {
			return slices.MinFunc(items[t], func(a, b *item) int { return a.probe.Compare(b.probe) }).probe
		}
		slices.SortFunc(due, func(a, b target) int { return cmp.Or(first(a).Compare(first(b)), strings.Compare(a.at, b.at)) })
		due = due[:min(len(due), g.cfg.Probes-g.probing)]
		for _, t := range due {
			for _, it := range items[t] {
				it.probing = true
			}
		}
		g.probing += len(due)
	}
	g.mu.Unlock()
	for _, t := range due {
		probes.Go(func() { g.ask(ctx, t, items[t]) })
	}
}

// ask probes an address, and says what that means for what is held of it.
func (g *Guard) ask(ctx context.Context, t target, items []*item) {
	answer := g.dial(ctx, t)
	now := time.Now()
	var gone []*item
	g.mu.Lock()
	g.probing--
	for _, it := range items {
		it.probing = false
		it.probe = now.Add(g.cfg.ProbeInterval)
	}
	if ctx.Err() != nil {
		g.mu.Unlock()
		return
	}
	g.probes.Add(1)
	switch answer {
	case answered:
		g.answers.Add(1)
	case refused:
		g.refusals.Add(1)
	}
	for _, it := range items {
		switch answer {
		case answered:
			it.refused = 0
			it.deadline = earlier(now.Add(g.cfg.Hold), it.since.Add(g.cfg.HoldMax))
		case refused:
			it.refused++
			it.probe = now.Add(g.cfg.ProbeInterval / 5)
			if it.refused >= 2 && !it.kept {
				gone = append(gone, it)
			}
		case nothing:
			it.refused = 0
		}
	}
	g.mu.Unlock()
	for _, it := range gone {
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
	if it.imports == nil {
		if !g.cfg.Book.Drop(it.path, it.generation, "held: "+e.String()) || !g.forget(it, e) {
			return
		}
	} else if !g.endImport(it, e) {
		return
	}
	if e != Adopted {
		g.log.Info("a held address has ended", "address", it.key, "evidence", e.String(), "held", time.Since(it.since).Round(time.Millisecond), "was", it.why)
	}
}

func (g *Guard) endImport(it *item, e Evidence) bool {
	s := it.imports
	s.mu.Lock()
	defer s.mu.Unlock()
	if !g.forget(it, e) {
		return false
	}
	delete(s.held, it.at)
	g.apply(s)
	return true
}

// forget drops an item and tells whether it was one.
func (g *Guard) forget(it *item, e Evidence) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.items[it.key] != it {
		return false
	}
	delete(g.items, it.key)
	g.ended[e]++
	return true
}

// relisted drops the item of what the registry has said something about.
func (g *Guard) relisted(key string, e Evidence) {
	g.mu.Lock()
	it := g.items[key]
	g.mu.Unlock()
	if it != nil {
		g.forget(it, e)
	}
}
