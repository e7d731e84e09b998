package server

import (
	"net/netip"
	"sync"
	"time"

	"zkbridge/internal/znode"
	"zkbridge/sessions"
)

// A consumer that was told of a change of a directory of providers, failed to
// list it again and gave up, calls providers that are gone until it is started
// anew (apache/dubbo #10052, #15487). On the wire everything is as it should be:
// the event has spent the watch, and setWatches after a reconnect does not name
// it. All that a server can do is to say so.

// debtMax is how many unanswered directories of one session are kept. A session
// with so many is known well enough.
const debtMax = 1 << 12

// debts are the events that a one-shot child watch of a bound directory was
// spent on and that their sessions have not answered yet: by listing the
// directory with a watch, or by a watch that covers it. They belong to the
// session, so they outlive its connection. Nil: nothing is kept.
type debts struct {
	// Set at construction.
	after time.Duration          // a debt that is older makes a stale consumer
	bound func(path string) bool // Config.BoundDir

	// Guarded by the tree's lock, held alone.
	event  *znode.Event // the last one looked at: those who watch one path get the same
	counts bool         // its path is a bound directory
	at     time.Time    // when it was looked at, if it counts

	mu      sync.Mutex
	debtors map[int64]*debtor // sessions that had a debt, by id
	oldest  *debt
	newest  *debt
}

// debtor is a session that has, or had, debts. It is kept while the session
// lives, so that the next event allocates little.
type debtor struct {
	// Set at construction.
	session *sessions.Session

	// Guarded by debts.mu.
	peer netip.AddrPort // of the latest connection
	from string         // of the latest connection, where peer says nothing
	owed map[string]*debt
}

// debt is one event not answered. It stands in the list of all debts, in the
// order of since.
type debt struct {
	by           *debtor
	path         string
	since        time.Time
	older, newer *debt
}

// newDebts returns nil if nothing is to be kept.
func newDebts(cfg *Config) *debts {
	if cfg.StaleAfter <= 0 || cfg.BoundDir == nil {
		return nil
	}
	t := &debts{after: cfg.StaleAfter, bound: cfg.BoundDir, debtors: make(map[int64]*debtor)}
	cfg.Sessions.OnEnd(t.ended)
	return t
}

// add notes that the session of c was told of path, and returns its debtor. A
// debt that is there already keeps its time. A session that is closing owes
// nothing: ended would not be called for it again.
func (t *debts) add(c *conn, known *debtor, path string) *debtor {
	s := c.carried.Load()
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Closing() {
		return known
	}
	d := known
	if d == nil {
		if d = t.debtors[s.ID()]; d == nil {
			d = &debtor{session: s, owed: make(map[string]*debt)}
			t.debtors[s.ID()] = d
		}
	}
	d.peer, d.from = c.peer, c.from
	if d.owed[path] == nil && len(d.owed) < debtMax {
		n := &debt{by: d, path: path, since: t.at, older: t.newest}
		if t.newest != nil {
			t.newest.newer = n
		} else {
			t.oldest = n
		}
		t.newest = n
		d.owed[path] = n
	}
	return d
}

// settle ends the debt of d for path, if there is one.
func (t *debts) settle(d *debtor, path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := d.owed[path]; n != nil {
		t.removeLocked(n)
	}
}

// settleWhere ends the debts of d that covers says yes to.
func (t *debts) settleWhere(d *debtor, covers func(path string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for path, n := range d.owed {
		if covers(path) {
			t.removeLocked(n)
		}
	}
}

// ended forgets a session.
func (t *debts) ended(s *sessions.Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.debtors[s.ID()]
	if d == nil {
		return
	}
	for _, n := range d.owed {
		t.removeLocked(n)
	}
	delete(t.debtors, s.ID())
}

func (t *debts) removeLocked(n *debt) {
	if n.older != nil {
		n.older.newer = n.newer
	} else {
		t.oldest = n.newer
	}
	if n.newer != nil {
		n.newer.older = n.older
	} else {
		t.newest = n.older
	}
	n.older, n.newer = nil, nil
	delete(n.by.owed, n.path)
}

// resumed finds the debtor that the session of c is, nil if it is none.
func (t *debts) resumed(c *conn) *debtor {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.debtors[c.session.ID()]
	if d != nil {
		d.peer, d.from = c.peer, c.from
	}
	return d
}

// owes tells how many debts s has.
func (t *debts) owes(s *sessions.Session) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.debtors[s.ID()]; d != nil {
		return len(d.owed)
	}
	return 0
}

// each calls fn under the lock for the debts that make stale consumers, oldest
// first. It looks at no other, however many there are.
func (t *debts) each(fn func(*debt)) {
	if t == nil {
		return
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for n := t.oldest; n != nil && now.Sub(n.since) >= t.after; n = n.newer {
		if !n.by.session.Closing() {
			fn(n)
		}
	}
}
