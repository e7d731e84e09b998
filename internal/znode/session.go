package znode

import (
	"cmp"
	"slices"
	"time"
)

// Session is a session as the log keeps it.
type Session struct {
	ID      int64
	Timeout time.Duration // negotiated last; whole ms
	Epoch   uint32        // of its tenure
	Zxid    int64         // of the transaction that opened it
	// Whole says that nothing of it can be missing, so it may be resumed. One that
	// is not whole has to be ended before any client is served.
	Whole bool
	// Robbed says that a node of it was taken over by another session: it stays for
	// what else it owns, but is told expired when its client comes back.
	Robbed bool
}

// tenancy is a Session in the table.
type tenancy struct {
	zxid    int64
	timeout int32 // ms; below 0: that of a robbed one
	epoch   uint32
}

// OpenSession spends the zxid of a createSession, keeps the session and tells the
// Hook. Of s, ID, Timeout and Epoch count.
func (x *Tx) OpenSession(s Session) {
	x.session(Effect{Kind: EffectSession, Owner: s.ID, Czxid: x.zxid, Version: milliseconds(s.Timeout), Reserved: int32(s.Epoch)})
	x.change(Change{Kind: SessionOpened, Owner: s.ID, Zxid: x.zxid})
}

// CloseSession deletes the ephemerals that session id still owns, one after
// another with all their events, and says how many there were. A path for which
// keep gives a reason is held instead; nil keeps none.
func (x *Tx) CloseSession(id int64, keep func(path string) (why string)) int {
	n := len(x.tree.owners[id])
	x.shed(id, n, keep)
	delete(x.tree.ending, id)
	x.session(Effect{Kind: EffectEnd, Owner: id})
	x.change(Change{Kind: SessionClosed, Owner: id, Zxid: x.zxid})
	return n
}

// ReduceSession deletes, or with a reason from keep holds, at most max of the
// ephemerals of a session that is closing, and says how many it still owns. It is
// for sessions too large for one transaction; the last one is CloseSession.
// Between the two a create of a name that the session still owns removes that
// node first.
func (x *Tx) ReduceSession(id int64, max int, keep func(path string) (why string)) int {
	x.tree.ending[id] = struct{}{}
	x.shed(id, min(max, len(x.tree.owners[id])), keep)
	return len(x.tree.owners[id])
}

// shed deletes or holds count ephemerals of a session, the newest first.
func (x *Tx) shed(id int64, count int, keep func(string) string) {
	for range count {
		list := x.tree.owners[id]
		n := list[len(list)-1]
		if keep != nil {
			if why := keep(n.path); why != "" {
				x.hold(&Effect{Kind: EffectHold, Node: Ephemeral, Path: n.path, Why: why}, n)
				continue
			}
		}
		x.remove(n, false)
	}
}

// Hold gives an ephemeral of a session to Config.Reserved because of why. Nothing
// else of it changes, and nobody is told but the Hook. A create of its name adopts
// it; Remove and a client's delete remove it. It reports whether path is an
// ephemeral of a session.
func (x *Tx) Hold(path, why string) bool {
	n := x.tree.nodes[path]
	if n == nil || n.kind != Ephemeral || x.tree.reserves(n) || why == "" {
		return false
	}
	x.hold(&Effect{Kind: EffectHold, Node: Ephemeral, Path: path, Why: why}, n)
	return true
}

func (x *Tx) hold(e *Effect, n *node) {
	t := x.tree
	was := n.session()
	x.save(n)
	s := n.state
	s.owner, s.held = t.reserved, t.reasons.number(e.Why)
	t.restate(n, s)
	x.record(e, 0)
	x.change(Change{Kind: Held, Path: n.path, Data: n.data, Owner: was, Czxid: n.czxid, Zxid: x.zxid, Why: e.Why})
}

// session notes what becomes of a session; it is so once the transaction stands.
func (x *Tx) session(e Effect) {
	e.Node = Ephemeral
	x.effects = append(x.effects, e)
	x.stored, x.manned = true, true
}

// enroll brings the table of sessions up to date with the transaction.
func (x *Tx) enroll() {
	for i := range x.effects {
		switch e := &x.effects[i]; e.Kind {
		case EffectSession:
			x.tree.sessions[e.Owner] = tenancy{zxid: e.Czxid, timeout: e.Version, epoch: uint32(e.Reserved)}
		case EffectEnd:
			delete(x.tree.sessions, e.Owner)
		}
	}
}

// RenewSession keeps the timeout under which a session was resumed. It spends no
// zxid, as in ZooKeeper. A session that is not open is left alone.
func (t *Tree) RenewSession(id int64, timeout time.Duration) {
	ms := milliseconds(timeout)
	t.mu.RLock()
	s, open := t.sessions[id]
	t.mu.RUnlock()
	if !open || s.timeout == ms || s.timeout < 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, open = t.sessions[id]; !open || s.timeout < 0 {
		return
	}
	s.timeout = ms
	t.sessions[id] = s
	if t.store != nil {
		t.store.note(t.zxid, t.now().UnixMilli(), s.effect(id))
		t.store.spent()
	}
}

func (s tenancy) effect(id int64) Effect {
	return Effect{Kind: EffectSession, Node: Ephemeral, Owner: id, Czxid: s.zxid, Version: s.timeout, Reserved: int32(s.epoch)}
}

// Sessions are the open sessions, by id: after a start those that were loaded. An
// ephemeral without a session, which cannot be but by damage, has one here that is
// not whole.
func (t *Tree) Sessions() []Session {
	t.mu.RLock()
	defer t.mu.RUnlock()
	whole := t.store == nil || t.store.whole
	list := make([]Session, 0, len(t.sessions))
	for id, s := range t.sessions {
		list = append(list, Session{
			ID: id, Timeout: time.Duration(max(s.timeout, -s.timeout)) * time.Millisecond, Epoch: s.epoch, Zxid: s.zxid,
			Whole: whole, Robbed: s.timeout < 0,
		})
	}
	for id := range t.owners {
		if _, open := t.sessions[id]; !open && id != t.reserved {
			list = append(list, Session{ID: id})
		}
	}
	slices.SortFunc(list, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func milliseconds(d time.Duration) int32 { return int32(min(d.Milliseconds(), 1<<31-1)) }

// reason is the number of a text: nodes by the thousand are held for one reason.
type reason uint16

// reasons are the texts of held nodes, numbered from 1.
type reasons struct {
	texts   []string
	numbers map[string]reason
}

// maxReasons bounds the texts that are told apart.
const maxReasons = 1 << 14

func (r *reasons) number(text string) reason {
	if n := r.numbers[text]; n != 0 {
		return n
	}
	if len(r.texts) == maxReasons {
		return maxReasons
	}
	if r.numbers == nil {
		r.numbers = make(map[string]reason)
	}
	r.texts = append(r.texts, text)
	n := reason(len(r.texts))
	r.numbers[text] = n
	return n
}

func (r *reasons) text(n reason) string {
	if n == 0 {
		return ""
	}
	return r.texts[n-1]
}
