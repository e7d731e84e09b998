package server

import (
	"zkbridge/internal/znode"
	"zkbridge/sessions"
)

// closeSession, opcode -11, all versions. It always succeeds: the session's
// ephemerals are deleted, with their events in front of the reply, and the
// connection is closed behind it. Requests behind it are not carried out.
func (d *desk) closeSession() error {
	s := d.c.session
	if !d.srv.cfg.Sessions.BeginEnd(s) {
		return nil // it is ending already, and so is this connection
	}
	defer d.srv.cfg.Sessions.Finish(s)
	defer d.srv.cfg.Sessions.Detach(s, d.c) // else Finish would kick the connection before its reply is out
	reduce(d.srv.cfg.Tree, s, "closed by its client", nil)
	d.staging, d.replying = (*desk).closeSessionStage, (*desk).headerReply
	d.srv.cfg.Tree.Update(endOf(s, "closed by its client"), d.onTx, d.onAfter)
	if d.fatal != nil {
		return d.fatal
	}
	return errGoodbye
}

func (d *desk) closeSessionStage(x *znode.Tx) error {
	x.CloseSession(d.c.session.ID(), nil)
	return nil
}

// endTogether is how many ephemerals of a session that ends are deleted in one
// transaction. The lock is not held for longer on behalf of a session that has
// thousands.
const endTogether = 256

// Expire returns the function that a sessions.Manager calls to remove the nodes
// of a session that expired. keep is asked for each such session which of its
// nodes are to be held, and why (znode.Tx.CloseSession); it may return nil, and be
// nil: none.
func Expire(t *znode.Tree, keep func(*sessions.Session) func(path string) (why string)) func(*sessions.Session) {
	return func(s *sessions.Session) {
		const why = "expired"
		var held func(string) string
		if keep != nil {
			held = keep(s)
		}
		reduce(t, s, why, held)
		t.Update(endOf(s, why), func(x *znode.Tx) error {
			x.CloseSession(s.ID(), held)
			return nil
		}, nil)
	}
}

// reduce deletes the ephemerals of a closing session until few enough are left
// for its last transaction.
func reduce(t *znode.Tree, s *sessions.Session, why string, keep func(string) string) {
	left := 0
	t.View(func(v *znode.View) { left = v.Owned(s.ID()) })
	for before := left + 1; left > endTogether && left < before; {
		before = left
		t.Update(endOf(s, why), func(x *znode.Tx) error {
			left = x.ReduceSession(s.ID(), endTogether, keep)
			return nil
		}, nil)
	}
}

func endOf(s *sessions.Session, why string) znode.Origin {
	return znode.Origin{Kind: znode.SessionEnd, Session: s.ID(), Why: why}
}
