package embedded

import (
	"context"
	"sync"
	"time"

	rc "zkbridge/registryclient"
)

// keepWithdrawals is how long a withdrawal is repeated after a restart of the
// registry: by then every snapshot of it has been written.
const keepWithdrawals = 10 * time.Minute

// ledger remembers what an owner published, so that it can be published again,
// and keeps the publications of one service in order.
type ledger struct {
	mu      sync.Mutex
	entries map[rc.Service]*ledgerEntry
}

type ledgerEntry struct {
	// sending is held across the call, so that an older list cannot overtake a
	// newer one.
	sending sync.Mutex

	// guarded by ledger.mu
	last     rc.Publication
	accepted bool
	at       time.Time
	users    int
}

func newLedger() *ledger { return &ledger{entries: make(map[rc.Service]*ledgerEntry)} }

// publish sends p and, if that succeeds, remembers it.
func (l *ledger) publish(ctx context.Context, p rc.Publication, send func(context.Context, rc.Publication) error) error {
	e := l.take(p.Service)
	defer l.release(p.Service, e)
	e.sending.Lock()
	defer e.sending.Unlock()
	if err := send(ctx, p); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.last, e.accepted, e.at = p, true, time.Now()
	return nil
}

// redo sends the last publication of s again.
func (l *ledger) redo(ctx context.Context, s rc.Service, send func(context.Context, rc.Publication) error) error {
	e := l.take(s)
	defer l.release(s, e)
	e.sending.Lock()
	defer e.sending.Unlock()
	l.mu.Lock()
	p, accepted := e.last, e.accepted
	l.mu.Unlock()
	if !accepted {
		return nil
	}
	return send(ctx, p)
}

// services lists what there is to redo.
func (l *ledger) services() []rc.Service {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]rc.Service, 0, len(l.entries))
	for s, e := range l.entries {
		switch {
		case e.accepted && len(e.last.Instances) == 0 && e.users == 0 && time.Since(e.at) > keepWithdrawals:
			delete(l.entries, s)
		case e.accepted:
			list = append(list, s)
		}
	}
	return list
}

func (l *ledger) take(s rc.Service) *ledgerEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[s]
	if e == nil {
		e = &ledgerEntry{}
		l.entries[s] = e
	}
	e.users++
	return e
}

func (l *ledger) release(s rc.Service, e *ledgerEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.users--
	if e.users == 0 && !e.accepted {
		delete(l.entries, s)
	}
}
