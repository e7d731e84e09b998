package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	rc "zkbridge/registryclient"
)

// Config makes a Registry. The zero value is a registry in memory.
type Config struct {
	Disk   Disk // where the snapshot is kept; nil: nowhere, all is forgotten at the end
	Limits Limits
	// Settle is how long after a start the registry says of itself that it may
	// not have heard of everybody yet. Remote does not believe in losses until
	// it is over. Default 30 s.
	Settle time.Duration
	// Linger is how long the name of a service stays listed after its last
	// instance. Default 60 s.
	Linger time.Duration
	// SaveEvery is the least time between a change and the snapshot that has it;
	// it grows with the cost of a snapshot. Default 500 ms.
	SaveEvery time.Duration
	Epoch     string       // names this life of the registry; default random
	Log       *slog.Logger // nil: silent
}

// The registry's clock is checked at least this often, and when it is found to
// be late by more than stallLimit, the process has stood still.
const (
	lookEvery  = time.Second
	stallLimit = 500 * time.Millisecond
)

// forgetOwner is how long the generations of an owner are remembered after its
// lease has lapsed.
const forgetOwner = time.Hour

// Registry is a service registry in one process. All methods are safe for
// concurrent use. Nothing expires and nothing is saved unless Run runs.
type Registry struct {
	// set at construction
	cfg     Config
	limits  Limits
	log     *slog.Logger
	epoch   string
	born    time.Time
	closed  chan struct{} // closed when Run ends
	damaged bool          // what was there before the start could not be read
	wake    chan struct{} // holds one token when a deadline moved closer
	unsaved chan struct{} // holds one token when the snapshot is out of date

	// guarded by mu
	mu            sync.Mutex
	ended         bool
	endedAt       time.Time
	running       bool
	stalled       time.Duration // how long this process stood still
	settleAt      time.Duration // on the registry's clock
	revision      uint64
	journal       Journal // nil: none
	journalBroken bool    // until the next snapshot
	services      map[rc.Service]*service
	groups        map[groupKey]*group
	owners        map[ownerKey]*owner
	deadlines     deadlines
	leaseSeq      uint64
	watches       int
	count         counters
}

type ownerKey struct {
	cluster string
	bridge  uint8
}

func keyOf(o rc.Owner) ownerKey { return ownerKey{o.Cluster, o.Bridge} }

// String gives "cluster/bridge", or "" for the zero value.
func (k ownerKey) String() string {
	if k == (ownerKey{}) {
		return ""
	}
	return fmt.Sprintf("%s/%d", k.cluster, k.bridge)
}

// New makes a registry and loads its snapshot. Everything in the snapshot gets
// one full time to live, counted from Run. It fails when the snapshot cannot be
// read or is of a newer format; a damaged one is set aside, with a log line,
// and the registry starts empty, because the next heart-beats bring
// everything back.
func New(cfg Config) (*Registry, error) {
	for p, v := range map[*time.Duration]time.Duration{&cfg.Settle: 30 * time.Second, &cfg.Linger: time.Minute, &cfg.SaveEvery: 500 * time.Millisecond} {
		if *p <= 0 {
			*p = v
		}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Epoch == "" {
		cfg.Epoch = rand.Text()[:13]
	}
	r := &Registry{
		cfg:      cfg,
		limits:   cfg.Limits.withDefaults(),
		log:      cfg.Log,
		epoch:    cfg.Epoch,
		born:     time.Now(),
		closed:   make(chan struct{}),
		wake:     make(chan struct{}, 1),
		unsaved:  make(chan struct{}, 1),
		settleAt: cfg.Settle,
		services: make(map[rc.Service]*service),
		groups:   make(map[groupKey]*group),
		owners:   make(map[ownerKey]*owner),
	}
	if err := r.load(); err != nil {
		return nil, err
	}
	r.graceLocked()
	return r, nil
}

// restartGrace is the least that a lease lasts after a restart: its owner has to
// notice that, and to come back.
const restartGrace = 10 * time.Second

// graceLocked gives it to all leases. It runs before the registry is shared.
func (r *Registry) graceLocked() {
	for _, sv := range r.services {
		for _, o := range sv.owned {
			r.postponeLocked(o.lease.end, max(o.lease.ttl, restartGrace))
		}
	}
}

// Run expires what is due and keeps the snapshot until ctx ends; then it ends
// all subscriptions, refuses further calls, writes the last snapshot and
// returns nil, or the error of that last write. It is called once.
func (r *Registry) Run(ctx context.Context) error {
	r.mu.Lock()
	r.running = true
	r.stalled = time.Since(r.born) // deadlines count from here
	r.mu.Unlock()

	var saver sync.WaitGroup
	saver.Go(func() { r.keepSaved(ctx) })
	r.keepTime(ctx)
	saver.Wait()

	r.mu.Lock()
	r.ended, r.endedAt = true, time.Now()
	close(r.closed)
	r.mu.Unlock()
	return r.save()
}

// keepTime fires deadlines until ctx ends.
func (r *Registry) keepTime(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		r.mu.Lock()
		now := r.nowLocked()
		next := r.deadlines.run(now, lookEvery)
		r.mu.Unlock()

		asleep, wait := time.Now(), max(next-now, 0)
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		if late := time.Since(asleep) - wait; late > stallLimit {
			r.standstill(late)
		}
	}
}

// standstill extends all deadlines by the time that this process stood still:
// the heart-beats of that time could not be heard.
func (r *Registry) standstill(d time.Duration) {
	r.mu.Lock()
	r.stalled += d
	r.count.stalls++
	r.mu.Unlock()
	r.log.Warn("the registry stood still; all deadlines are extended by that time", "for", d)
}

// nowLocked is the registry's clock: time since birth less the time in which
// this process stood still or was not run.
func (r *Registry) nowLocked() time.Duration {
	if !r.running {
		return 0
	}
	return time.Since(r.born) - r.stalled
}

// settledLocked tells whether those who were there before a restart have had
// the time to come back.
func (r *Registry) settledLocked() bool { return r.nowLocked() >= r.settleAt }

// unsure refuses to tell applications who there is while that would be a guess: after
// a start without what was known before, until those who live have had the time to
// come back. Who is told nothing keeps the list that it has.
func (r *Registry) unsure() *Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.damaged || r.settledLocked() {
		return nil
	}
	return problem(codeUnavailable, "keep the list that you have, and ask again", "the registry's data were damaged; it waits %v for registrations to come back",
		(r.settleAt - r.nowLocked()).Round(time.Second))
}

// dueLocked queues fire after d and makes keepTime look.
func (r *Registry) dueLocked(d time.Duration, fire func()) *deadline {
	e := r.deadlines.add(r.nowLocked()+d, fire)
	r.wakeUp(e)
	return e
}

// postponeLocked moves e to d from now.
func (r *Registry) postponeLocked(e *deadline, d time.Duration) {
	r.deadlines.move(e, r.nowLocked()+d)
	r.wakeUp(e)
}

// wakeUp makes keepTime look again if e is the next to come.
func (r *Registry) wakeUp(e *deadline) {
	if e.index == 0 {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// changedLocked notes that the snapshot on disk is out of date.
func (r *Registry) changedLocked() {
	select {
	case r.unsaved <- struct{}{}:
	default:
	}
}

// openLocked refuses a call once Run has ended.
func (r *Registry) openLocked() *Problem {
	if r.ended {
		return problem(codeUnavailable, "try again when it is back", "the registry is shutting down")
	}
	return nil
}
