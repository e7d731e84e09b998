package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// account is what a connection needs to know about the debts of its session.
// Without addWatch and without an event on a bound directory it is empty, and
// costs a comparison.
type account struct {
	debtor   *debtor   // nil: the session has owed nothing so far
	standing *standing // nil: no watch of addWatch is set
}

// told notes an event that was queued to c. It runs under the tree's lock, held
// alone, and is called by Notify.
func (t *debts) told(c *conn, e *znode.Event) {
	if t == nil || e.Type != zkproto.EventChildrenChanged {
		return
	}
	if e != t.event {
		t.event, t.counts = e, t.bound(e.Path)
		if t.counts {
			t.at = time.Now()
		}
	}
	// Of a connection that is being closed the client may be on another one
	// already: what it has not heard of here its setWatches will name.
	if !t.counts || c.account.standing.covers(e.Path) || c.kicked.Load() != nil || c.shutOff.Load() {
		return
	}
	c.account.debtor = t.add(c, c.account.debtor, e.Path)
}

// listed notes an attempt to list path and to set a watch on it. A client that
// is told that the directory is not there has its answer as well.
func (t *debts) listed(c *conn, path string, outcome error) {
	if t == nil || c.account.debtor == nil {
		return
	}
	if outcome == nil || errors.Is(outcome, zkproto.NoNode) {
		t.settle(c.account.debtor, path)
	}
}

// restored notes a setWatches that is about to be carried out: what changed
// since is told again, and owed anew.
func (t *debts) restored(c *conn, m *zkproto.SetWatches2Request) {
	if t == nil {
		return
	}
	for _, path := range m.Persistent {
		t.watched(c, path, zkproto.WatchPersistent)
	}
	for _, path := range m.PersistentRecursive {
		t.watched(c, path, zkproto.WatchPersistentRecursive)
	}
	if c.account.debtor == nil {
		return
	}
	for _, path := range m.Child {
		t.settle(c.account.debtor, path)
	}
}

// watched notes a watch that stays.
func (t *debts) watched(c *conn, path string, mode zkproto.AddWatchMode) {
	if t == nil {
		return
	}
	a := &c.account
	if a.standing == nil {
		a.standing = &standing{}
	}
	switch mode {
	case zkproto.WatchPersistent:
		a.standing.persistent.add(path)
		if a.debtor != nil {
			t.settle(a.debtor, path)
		}
	case zkproto.WatchPersistentRecursive:
		a.standing.recursive.add(path)
		if a.debtor != nil {
			t.settleWhere(a.debtor, func(owed string) bool { return inSubtree(owed, path) })
		}
	}
}

// unwatched notes a removeWatches that has removed something.
func (t *debts) unwatched(c *conn, path string, typ zkproto.WatcherType) {
	if t == nil || c.account.standing == nil {
		return
	}
	s := c.account.standing
	if typ == zkproto.WatcherPersistent || typ == zkproto.WatcherAny {
		delete(s.persistent, path)
	}
	if typ == zkproto.WatcherPersistentRecursive || typ == zkproto.WatcherAny {
		delete(s.recursive, path)
	}
	if len(s.persistent)+len(s.recursive) == 0 {
		c.account.standing = nil
	}
}

// paths is a set of paths.
type paths map[string]struct{}

func (p *paths) add(path string) {
	if *p == nil {
		*p = make(paths)
	}
	(*p)[path] = struct{}{}
}

func (p paths) has(path string) bool {
	_, ok := p[path]
	return ok
}

// standing are the watches of a connection that no event spends. The tree has
// them too, but must not be asked while it hands out events.
type standing struct{ persistent, recursive paths }

// covers tells whether a watch that stays hears of the children of path.
func (s *standing) covers(path string) bool {
	if s == nil {
		return false
	}
	if s.persistent.has(path) {
		return true
	}
	if len(s.recursive) == 0 {
		return false
	}
	for {
		if s.recursive.has(path) {
			return true
		}
		i := strings.LastIndexByte(path, '/')
		switch {
		case i > 0:
			path = path[:i]
		case len(path) > 1:
			path = "/"
		default:
			return false
		}
	}
}

// inSubtree tells whether path is top or below it.
func inSubtree(path, top string) bool {
	rest, ok := strings.CutPrefix(path, top)
	return ok && (rest == "" || rest[0] == '/' || top == "/")
}

// back tells the connection what the session that it resumes owes. The shared
// lock is enough for that: c has no watch yet, so nobody else looks.
func (t *debts) back(c *conn) {
	if t != nil {
		c.account.debtor = t.resumed(c)
	}
}

// attach gives c the session that m asks for (sessions.Manager.Attach). With
// Config.ExpireStale a session that has not answered an event, however short ago,
// is expired instead: nothing else makes its client read everything again. What
// its connections before this one were told is known by then, because it was
// noted under the tree's lock, and a connection that was taken over notes
// nothing any more.
func (c *conn) attach(ctx context.Context, m *zkproto.ConnectRequest, timeout time.Duration) (*sessions.Session, error) {
	srv := c.srv
	for {
		s, err := srv.cfg.Sessions.Attach(ctx, m.SessionID, m.Passwd, timeout, c)
		if err != nil || srv.stale == nil || !srv.cfg.ExpireStale {
			return s, err
		}
		owes := 0
		srv.cfg.Tree.View(func(*znode.View) { owes = srv.stale.owes(s) })
		if owes == 0 {
			return s, nil
		}
		srv.cfg.Sessions.Detach(s, c) // else its end would kick c before the answer is out
		if srv.cfg.Sessions.Expire(s) {
			srv.log.Info("session expired instead of resumed: its client had not read again what it was told has changed",
				"peer", c.String(), "session", s, "directories", owes)
			return nil, sessions.ErrExpired
		}
		// Somebody else is ending it: the next attempt waits for that.
	}
}
