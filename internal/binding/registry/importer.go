package registry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// importer brings what others register into the book of claims.
type importer struct {
	// set at construction
	cfg   Config
	gate  *gate
	echo  *echo
	log   *slog.Logger
	wake  chan struct{}                 // holds one token when found has grown
	hurry func(registryclient.Service)  // is told what an import has changed
	left  func(registryclient.Snapshot) // is told the first list of each service

	mu      sync.Mutex
	targets []turn // found or lost, in order, and not seen to yet

	snapshots, imports, echoes, failures atomic.Uint64
	subscribed                           atomic.Int64
}

func newImporter(cfg Config, g *gate, e *echo) *importer {
	return &importer{cfg: cfg, gate: g, echo: e, log: cfg.Log, wake: make(chan struct{}, 1)}
}

// turn is a target that some root is bound to now, or none any more.
type turn struct {
	target claims.Target
	there  bool
}

// found notes that a root is bound to a target, or none is any more. It is called
// under the tree's lock.
func (m *importer) found(t claims.Target, there bool) {
	m.mu.Lock()
	m.targets = append(m.targets, turn{t, there})
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *importer) take() []turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.targets
	m.targets = nil
	return list
}

// run follows every target until ctx ends.
func (m *importer) run(ctx context.Context) error {
	var followers sync.WaitGroup
	defer followers.Wait()
	if !m.cfg.Leader.Leads(JobImport) {
		m.gate.start(nil)
		<-ctx.Done()
		return nil
	}
	list := m.take()
	var first []claims.Target
	for _, t := range list {
		if t.there {
			first = append(first, t.target)
		}
	}
	m.gate.start(first)
	following := make(map[claims.Target]*follower)
	for {
		for _, t := range list {
			f := following[t.target]
			switch {
			case t.there && (f == nil || f.told):
				of, cancel := context.WithCancel(ctx)
				next := &follower{importer: m, target: t.target, services: make(map[string]*subscription), cancel: cancel, ended: make(chan struct{})}
				following[t.target] = next
				followers.Go(func() {
					defer close(next.ended)
					defer cancel()
					if f != nil {
						<-f.ended
					}
					next.run(of)
				})
			case !t.there && f != nil && !f.told:
				f.told = true
				f.cancel()
				m.gate.named(t.target, nil)
			}
		}
		for t, f := range following {
			if f.told && f.over() {
				delete(following, t)
			}
		}
		select {
		case <-m.wake:
			list = m.take()
		case <-ctx.Done():
			return nil
		}
	}
}

// pause waits after a final error of the registry; false when ctx ends.
func (m *importer) pause(ctx context.Context, attempt int) bool {
	const shortest, longest = time.Second, 30 * time.Second
	bound := longest
	if attempt < 6 {
		bound = min(bound, shortest<<attempt)
	}
	t := time.NewTimer(shortest/2 + time.Duration(m.cfg.Jitter()*float64(bound)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// follower follows one target: its names, and each service that a layout wants.
type follower struct {
	*importer
	target claims.Target
	cancel context.CancelFunc
	ended  chan struct{} // closed when run has returned
	told   bool          // owned by importer.run: to end

	subscriptions sync.WaitGroup
	judging       sync.Map                 // of *subscription: those whose last list is to be judged again
	services      map[string]*subscription // owned by run: calls of WatchNames' fn are serial
}

// over tells whether run has returned.
func (f *follower) over() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// subscription is one service that is followed.
type subscription struct {
	service registryclient.Service
	cancel  context.CancelFunc

	mu    sync.Mutex              // held while a list is imported
	first bool                    // a list has come
	gone  bool                    // its name is not there any more
	empty bool                    // so is its last list
	last  registryclient.Snapshot // the last list, if it is to be judged again
	again time.Time               // when; zero: it is not
	ended bool                    // both: nothing is imported any more
}

func (f *follower) run(ctx context.Context) {
	defer f.subscriptions.Wait()
	f.subscriptions.Go(func() { f.judgeAgain(ctx) })
	for attempt := 0; ; attempt++ {
		err := f.cfg.Client.WatchNames(ctx, f.target.Namespace, f.target.Group, func(names []string) {
			attempt = 0
			f.named(ctx, names)
		})
		if ctx.Err() != nil {
			return
		}
		f.failures.Add(1)
		if err != nil {
			if errors.Is(err, registryclient.ErrInvalid) && !f.cfg.Book.Spaces().Configured(f.target) {
				// A client's directory must not close the bridge: what is no name to the
				// registry has nothing in it.
				f.gate.named(f.target, nil)
			} else {
				f.gate.refused(err)
			}
			if attempt == 0 {
				f.log.Error("the registry does not let us see which services there are", "target", f.target.String(), "error", err)
			}
		}
		if !f.pause(ctx, attempt) {
			return
		}
	}
}

// named subscribes what is new and ends what is gone. A name may go before its
// last instances do: then the subscription goes on until they have.
func (f *follower) named(ctx context.Context, names []string) {
	wanted := make(map[string]bool, len(names))
	var begin []func()
	for _, n := range names {
		if s := f.services[n]; s != nil && !s.named(true) {
			wanted[n] = true
			continue
		}
		svc := f.target.Service(n)
		if !f.cfg.Book.Wants(svc) {
			continue
		}
		wanted[n] = true
		of, cancel := context.WithCancel(ctx)
		s := &subscription{service: svc, cancel: cancel}
		f.services[n] = s
		begin = append(begin, func() {
			defer cancel()
			f.subscribe(of, s)
		})
	}
	for n, s := range f.services {
		if !wanted[n] && s.named(false) {
			delete(f.services, n)
		}
	}
	f.gate.named(f.target, wanted) // before a first list comes, which the gate would wait for else
	for _, subscribe := range begin {
		f.subscriptions.Go(subscribe)
	}
}

// named notes whether the name is there, and tells whether the subscription
// has ended.
func (s *subscription) named(there bool) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = !there
	s.endLocked()
	return s.ended
}

func (s *subscription) endLocked() {
	if s.gone && s.empty && !s.ended {
		s.ended = true
		s.cancel()
	}
}

// subscribe follows one service until ctx ends.
func (f *follower) subscribe(ctx context.Context, s *subscription) {
	f.subscribed.Add(1)
	defer f.subscribed.Add(-1)
	for attempt := 0; ; attempt++ {
		err := f.cfg.Client.Subscribe(ctx, s.service, func(snap registryclient.Snapshot) {
			attempt = 0
			f.snapshot(s, snap)
		})
		if ctx.Err() != nil {
			return
		}
		f.failures.Add(1)
		if err != nil {
			if attempt == 0 {
				f.log.Error("the registry does not let us see a service: its instances stay as they are", "service", s.service.String(), "error", err)
			}
			f.gate.imported(s.service) // one that is refused must not close the bridge
		}
		if !f.pause(ctx, attempt) {
			return
		}
	}
}

// snapshot imports one list.
func (f *follower) snapshot(s *subscription, snap registryclient.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	f.snapshots.Add(1)
	if !s.first {
		s.first = true
		f.left(snap)
	}
	f.judge(s, snap)
	f.gate.imported(snap.Service)
	s.empty = len(snap.Instances) == 0
	s.endLocked()
}

// judge imports what is not ours of a list. s.mu is held.
func (f *follower) judge(s *subscription, snap registryclient.Snapshot) {
	list, own, again := f.echo.foreign(snap)
	f.echoes.Add(uint64(own))
	if s.again = again; again.IsZero() {
		s.last = registryclient.Snapshot{}
		f.judging.Delete(s)
	} else {
		s.last = snap
		f.judging.Store(s, nil)
	}
	if f.cfg.Guard.Import(snap.Service, list) {
		f.imports.Add(1)
		f.hurry(snap.Service)
	}
}

// judgeAgain looks at lists a second time in which something was taken for ours
// only for as long as we remember what we withdrew.
func (f *follower) judgeAgain(ctx context.Context) {
	tick := time.NewTicker(15 * time.Second)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			f.judging.Range(func(k, _ any) bool {
				s := k.(*subscription)
				s.mu.Lock()
				defer s.mu.Unlock()
				if !s.again.IsZero() && !now.Before(s.again) {
					f.judge(s, s.last)
				}
				return true
			})
		case <-ctx.Done():
			return
		}
	}
}

func (m *importer) stats(s *Stats) {
	s.Snapshots, s.Imports, s.Echoes = m.snapshots.Load(), m.imports.Load(), m.echoes.Load()
	s.SubscribeErrors, s.Subscribed = m.failures.Load(), int(m.subscribed.Load())
}
