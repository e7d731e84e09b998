package registry

import (
	"container/heap"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// publisher keeps the registry's lists of our services what the claims say.
type publisher struct {
	// set at construction
	cfg   Config
	table *Table
	log   *slog.Logger
	wake  chan struct{} // holds one token when the earliest due time moved closer
	again chan struct{} // holds one token when our services should be compared

	mu       sync.Mutex
	up       bool
	reason   string // why not
	services map[registryclient.Service]*outgoing
	queue    dueQueue // services that are waiting, none that is busy
	last     uint64   // generation of the last call
	counted  Stats
	holdBack bool      // nothing leaves before what an earlier life has left is known
	until    time.Time // which stays until then
}

// outgoing is the list of one service on its way.
type outgoing struct {
	service registryclient.Service

	// guarded by publisher.mu
	due     time.Time       // when to look at it next; zero: no need
	since   time.Time       // since when it has been due without being looked at
	index   int             // in the queue, -1: not there
	busy    bool            // a worker has it
	missing time.Time       // the first report that something may have gone, not looked at yet
	force   time.Time       // publish even what is the same, unless it was accepted since: the registry may hold something else
	retry   bool            // try again what was refused
	left    []claims.Listed // what an earlier life of ours has left in the registry

	// written under publisher.mu by the worker that has it
	accepted   []claims.Listed // what the registry has from us, sorted
	acceptedAt time.Time
	doubt      bool // the outcome of the last call is not known
	going      map[string]time.Time
	refused    map[string]refused // by the path of the znode
	attempt    int                // calls that failed in a row
	notBefore  time.Time          // when the next may be made
	failure    string             // of the last one
}

// refused is an instance that the registry does not take.
type refused struct {
	listed claims.Listed
	text   string
	until  time.Time // try again then
}

func newPublisher(cfg Config) *publisher {
	return &publisher{
		cfg: cfg, table: cfg.Table, log: cfg.Log,
		wake: make(chan struct{}, 1), again: make(chan struct{}, 1),
		reason: "not connected yet", services: make(map[registryclient.Service]*outgoing),
	}
}

// mark notes that the list of a service may have changed. It is called under
// the tree's lock.
func (p *publisher) mark(svc registryclient.Service, u claims.Urgency) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.outgoingLocked(svc)
	if u == claims.Urgent {
		p.dueLocked(o, now.Add(p.cfg.AdditionDelay))
		return
	}
	if o.missing.IsZero() {
		o.missing = now
	}
	p.dueLocked(o, now.Add(p.cfg.RemovalDelay))
}

// hurry has a service that is due soon looked at now: somebody else's record of
// one of its addresses may have gone, and until ours is there it has none.
func (p *publisher) hurry(svc registryclient.Service) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.services[svc]; o != nil && !o.due.IsZero() {
		p.dueLocked(o, time.Now())
	}
}

// publishAll has the lists of services looked at, at once: what was there before
// a start is not to be missed for longer than need be.
func (p *publisher) publishAll(services []registryclient.Service) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, svc := range services {
		p.dueLocked(p.outgoingLocked(svc), now)
	}
}

func (p *publisher) outgoingLocked(svc registryclient.Service) *outgoing {
	o := p.services[svc]
	if o == nil {
		o = &outgoing{service: svc, index: -1}
		p.services[svc] = o
	}
	return o
}

// dueLocked makes o due at t, if it is not due before, but not while the pause
// after a failure lasts.
func (p *publisher) dueLocked(o *outgoing, t time.Time) {
	if t.Before(o.notBefore) {
		t = o.notBefore
	}
	if o.since.IsZero() {
		o.since = t
	}
	if !o.due.IsZero() && !t.Before(o.due) {
		return
	}
	o.due = t
	if o.busy {
		return // the worker puts it back
	}
	if o.index < 0 {
		heap.Push(&p.queue, o)
	} else {
		heap.Fix(&p.queue, o.index)
	}
	if o.index == 0 {
		p.wakeLocked()
	}
}

func (p *publisher) wakeLocked() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// link follows the registry's link. When it comes up, everything that waits is
// due, and our services are compared.
func (p *publisher) link(s registryclient.LinkState) {
	if !p.linked(s) {
		return
	}
	if s.Up {
		p.log.Info("the registry is reachable")
	} else {
		p.log.Warn("the registry is away: what clients do is kept and published when it is back", "reason", s.Reason)
	}
}

// linked tells whether the link has changed sides.
func (p *publisher) linked(s registryclient.LinkState) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if changed = s.Up != p.up; changed {
		p.counted.LinkChanges++
	}
	p.up, p.reason = s.Up, s.Reason
	if !s.Up {
		return changed
	}
	for _, o := range p.services {
		if o.attempt > 0 || len(o.refused) > 0 {
			o.retry, o.notBefore = true, time.Time{}
			p.dueLocked(o, time.Now())
		}
	}
	p.wakeLocked()
	select {
	case p.again <- struct{}{}:
	default:
	}
	return changed
}

// run publishes until ctx ends.
func (p *publisher) run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	p.publishAll(p.cfg.Book.Services())
	workers.Go(func() { p.reconcile(ctx) })
	slots := make(chan struct{}, p.cfg.Workers)
	for {
		o, wait := p.take()
		if o == nil {
			t := time.NewTimer(wait)
			select {
			case <-ctx.Done():
				t.Stop()
				return nil
			case <-p.wake:
			case <-t.C:
			}
			t.Stop()
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		workers.Go(func() {
			p.work(ctx, o)
			<-slots
		})
	}
}

// take gives the next service that is due, marked busy, or how long there is
// none. While the registry is away nothing is due.
func (p *publisher) take() (*outgoing, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.up || len(p.queue) == 0 {
		return nil, time.Hour
	}
	if wait := time.Until(p.until); p.holdBack && wait > 0 {
		return nil, wait
	}
	o := p.queue[0]
	if wait := time.Until(o.due); wait > 0 {
		return nil, wait
	}
	heap.Pop(&p.queue)
	o.busy = true
	o.due, o.since = time.Time{}, time.Time{}
	return o, 0
}

// work looks at one service and publishes its list if that is called for.
func (p *publisher) work(ctx context.Context, o *outgoing) {
	p.mu.Lock()
	missing, force, retry, left := o.missing, o.force, o.retry, o.left
	o.missing, o.force, o.retry = time.Time{}, time.Time{}, false
	p.mu.Unlock()

	now := time.Now()
	pub := p.cfg.Book.PublicationsWithout(o.service, func(l claims.Listed) bool {
		_, yes := p.refuses(o, l, retry, now)
		return yes
	})
	out := make(map[string]refused, len(pub.Refused))
	for _, l := range pub.Refused {
		out[l.Path()], _ = p.refuses(o, l, retry, now)
	}
	if missing.IsZero() {
		missing = now
	}
	next := makePlan(pub.Listed, o.accepted, o.going, missing, now, p.cfg.RemovalDelay)
	if len(left) > 0 {
		next.keep(p.stillLeft(o, pub.Listed), p.until, now)
	}
	result := outcome{accepted: next.list, refused: out}
	if !sameList(next.list, o.accepted) || o.doubt || o.acceptedAt.Before(force) {
		result = p.deliver(ctx, o, next.list, maps.Clone(out), pub.Generation)
		if ctx.Err() != nil {
			return
		}
	}
	fresh := false
	for path := range result.refused {
		if _, known := out[path]; !known {
			fresh = true
		}
	}
	p.settle(o, next, result, force, fresh)
}

// refuses tells whether the registry has refused an instance, or will.
func (p *publisher) refuses(o *outgoing, l claims.Listed, retry bool, now time.Time) (refused, bool) {
	if limit := p.cfg.Client.Capabilities().MetadataLimit; limit > 0 && metadataSize(l.Instance) > limit {
		size := metadataSize(l.Instance)
		return refused{listed: l, text: fmt.Sprintf("its metadata have %d characters, the registry takes %d: raise the registry's limit, or make the provider register less (Dubbo: simplified=true)", size, limit)}, true
	}
	r, ok := o.refused[l.Path()]
	return r, ok && !retry && r.listed.Instance.Equal(l.Instance) && now.Before(r.until)
}

// settle keeps what became of a publication and says when to look again: at once
// if something was refused that another of that ip and port may stand in for.
func (p *publisher) settle(o *outgoing, next plan, result outcome, force time.Time, fresh bool) {
	p.report(o, result) // what is compared there only this worker writes
	p.mu.Lock()
	defer p.mu.Unlock()
	o.busy = false
	now := time.Now()
	o.refused = result.refused
	o.going = next.going // also after a failure: the time of what is missing runs on
	if result.err != nil {
		o.doubt = true
		if o.force.Before(force) {
			o.force = force
		}
		o.attempt++
		o.failure = result.err.Error()
		o.notBefore = now.Add(p.backoff(o.attempt))
		o.due = time.Time{}
		p.dueLocked(o, o.notBefore)
	} else {
		if result.sent {
			o.acceptedAt = now
		}
		o.accepted, o.doubt, o.attempt, o.failure, o.notBefore = result.accepted, false, 0, "", time.Time{}
		if !next.next.IsZero() {
			p.dueLocked(o, next.next)
		}
		if fresh {
			p.dueLocked(o, now)
		}
		for _, r := range o.refused {
			if !r.until.IsZero() {
				p.dueLocked(o, r.until)
			}
		}
	}
	switch {
	case !o.due.IsZero():
		if o.index < 0 {
			heap.Push(&p.queue, o)
			if o.index == 0 {
				p.wakeLocked()
			}
		}
	case len(o.accepted) == 0 && len(o.refused) == 0 && !o.doubt:
		delete(p.services, o.service)
	}
}

// backoff is full jitter: anything up to a bound that doubles.
func (p *publisher) backoff(attempt int) time.Duration {
	bound := p.cfg.RetryMax
	if shift := attempt - 1; shift < 20 && p.cfg.RetryMin<<shift < bound {
		bound = p.cfg.RetryMin << shift
	}
	return time.Duration(p.cfg.Jitter() * float64(bound))
}

// report logs what changed with a publication.
func (p *publisher) report(o *outgoing, result outcome) {
	log := p.log.With("service", o.service.String())
	switch {
	case result.err != nil && o.attempt == 0:
		log.Warn("publishing fails: it is repeated until it succeeds", "error", result.err)
	case result.err == nil && o.attempt > 0:
		log.Info("publishing works again", "attempts", o.attempt+1)
	}
	for path, r := range result.refused {
		if old, ok := o.refused[path]; !ok || old.text != r.text {
			log.Warn("the registry does not take an instance: its znode works on, its neighbours are published",
				"znode", path, "instance", r.listed.At, "reason", r.text)
		}
	}
	for path, r := range o.refused {
		if _, ok := result.refused[path]; !ok && result.err == nil && hasPath(result.accepted, r.listed) {
			log.Info("the registry takes the instance now", "znode", path, "instance", r.listed.At)
		}
	}
}

func hasPath(list []claims.Listed, want claims.Listed) bool {
	return slices.ContainsFunc(list, func(l claims.Listed) bool { return l.Dir == want.Dir && l.Name == want.Name })
}

// outcome answers Explain: what became of an instance that should be published,
// and whether the registry has refused it.
func (p *publisher) outcome(svc registryclient.Service, in registryclient.Instance) (text string, refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.services[svc]
	if o != nil {
		for _, r := range o.refused {
			if r.listed.Instance.Equal(in) {
				return "refused: " + r.text, true
			}
		}
		// It is asked for each provider of a large service while the tree waits for the
		// lock, so the list is not walked.
		if holds(o.accepted, in) {
			return "accepted at " + o.acceptedAt.Format(time.RFC3339), false
		}
	}
	switch {
	case !p.up:
		return "waiting: the registry is away: " + p.reason, false
	case o != nil && o.failure != "":
		return "waiting: " + o.failure, false
	}
	return "on its way", false
}

func (p *publisher) stats(s *Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*s = p.counted
	now := time.Now()
	for _, o := range p.services {
		if o.busy || !o.due.IsZero() && (o.attempt > 0 || !now.Before(o.due)) {
			s.PublishPending++
		}
		if !o.since.IsZero() {
			s.OldestPendingAge = max(s.OldestPendingAge, now.Sub(o.since))
		}
		s.PublishedNow += len(o.accepted)
		s.RefusedNow += len(o.refused)
	}
	s.TableErrors = p.table.Errors()
}

// dueQueue is a heap of services by due time.
type dueQueue []*outgoing

func (q dueQueue) Len() int           { return len(q) }
func (q dueQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *dueQueue) Push(x any) {
	o := x.(*outgoing)
	o.index = len(*q)
	*q = append(*q, o)
}

// Pop implements heap.Interface.
func (q *dueQueue) Pop() any {
	old := *q
	o := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	o.index = -1
	return o
}
