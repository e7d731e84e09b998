package sessions

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Conn is what a session needs of the connection that carries it. Values are
// compared with ==, so they are pointers.
type Conn interface {
	// Kick closes the connection because of why. It returns at once. It may come
	// before the Create or Attach that brought the connection has returned.
	Kick(why string)
}

// The states of a session, in the low bits of Session.state.
const (
	stateOpen uint32 = iota
	stateClosing
	stateEnded
	stateMask  = 3
	stateBound = 4 // a connection carries the session
)

// Session is one client's session. Its methods may be called from anywhere.
type Session struct {
	// Set at construction.
	m           *Manager
	id          int64
	born        int64 // ns since m.start
	epoch       uint32
	incarnation uint32
	bridge      uint8

	// Written under m.mu, read by anybody.
	timeout atomic.Int64  // ns
	state   atomic.Uint32 // state and stateBound
	// Written by anybody.
	seen atomic.Int64 // last sign of life, ns since m.start
	zxid atomic.Int64

	// Guarded by m.mu.
	conn   Conn
	robbed bool  // see Manager.Rob
	slot   int32 // place in m.queue, noSlot if it is not there
}

// ID is the session's id, never 0.
func (s *Session) ID() int64 { return s.id }

// Passwd returns the session's password, [PasswdSize] bytes.
func (s *Session) Passwd() []byte {
	p := s.m.keys.password(s.id, s.bridge, s.epoch)
	return p[:]
}

// Timeout is the timeout negotiated on the latest connection.
func (s *Session) Timeout() time.Duration { return time.Duration(s.timeout.Load()) }

// Touch records a sign of life: a request, a ping. It costs one atomic store.
// Touching a session that is closing has no effect. It returns how long the
// session had been silent.
func (s *Session) Touch() (silent time.Duration) {
	now := s.m.now()
	silent = time.Duration(now - s.seen.Load())
	s.seen.Store(now)
	return silent
}

// Establish records the transaction that opened the session.
func (s *Session) Establish(zxid int64) { s.zxid.Store(zxid) }

// Tenure is the ownership under which the session acts.
func (s *Session) Tenure() Tenure {
	return Tenure{Epoch: s.epoch, Zxid: s.zxid.Load(), Bridge: s.bridge, Incarnation: s.incarnation}
}

// Established is when the session was created.
func (s *Session) Established() time.Time { return s.m.start.Add(time.Duration(s.born)) }

// LastSeen is when the session last gave a sign of life.
func (s *Session) LastSeen() time.Time { return s.m.start.Add(time.Duration(s.seen.Load())) }

// Closing reports whether the session is closing or has ended. A write by the
// session asks under the tree's lock, and is not done if it is so.
func (s *Session) Closing() bool { return s.state.Load()&stateMask != stateOpen }

// Ended reports whether the session has ended.
func (s *Session) Ended() bool { return s.state.Load()&stateMask == stateEnded }

// Connected reports whether a connection carries the session now.
func (s *Session) Connected() bool { return s.state.Load()&stateBound != 0 }

// String shows the session as ZooKeeper's own tools do, in hex.
func (s *Session) String() string { return fmt.Sprintf("0x%x", uint64(s.id)) }

// deadline is when the session falls due unless it is touched before, ns since
// m.start.
func (s *Session) deadline() int64 { return s.seen.Load() + s.timeout.Load() }

func (s *Session) open() bool { return !s.Closing() }

// setStateLocked moves the session on.
func (s *Session) setStateLocked(to uint32) { s.state.Store(s.state.Load()&^stateMask | to) }

// bindLocked makes c, which may be nil, the session's connection.
func (s *Session) bindLocked(c Conn) {
	state := s.state.Load()
	if s.conn != nil {
		s.m.bound--
		state &^= stateBound
	}
	if c != nil {
		s.m.bound++
		state |= stateBound
	}
	s.conn = c
	s.state.Store(state)
}
