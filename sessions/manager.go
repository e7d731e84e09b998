package sessions

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// ErrExpired is the answer to a client whose session cannot be resumed: it is
// unknown, it has ended, or the password is wrong. On the wire all three are the
// same zeros.
var ErrExpired = errors.New("session expired")

// Bounds of the timeout when the configuration names none: 2 and 20 ticks of
// ZooKeeper's usual tickTime of 2000 ms.
const (
	DefaultMinTimeout = 4 * time.Second
	DefaultMaxTimeout = 40 * time.Second
)

// Config is what a Manager is made of.
type Config struct {
	Bridge      uint8  // 1 to 254 without 128; the top byte of the ids made here
	Incarnation uint32 // of the bridge: must be higher than at its last start
	KeyID       byte   // names Key in the passwords made with it
	Key         []byte // of the passwords, at least 16 bytes

	MinTimeout time.Duration // 0: DefaultMinTimeout
	MaxTimeout time.Duration // 0: DefaultMaxTimeout

	// Authority is asked whether a silent session is over; nil: we are, and it is.
	Authority Authority
	// Expire removes the nodes of a session that expired, and returns when
	// they are gone. Run calls it for one session at a time, Manager.Expire at any
	// time. Required.
	Expire func(s *Session)

	Log *slog.Logger // nil: silent
}

// Manager holds the sessions of one bridge.
type Manager struct {
	// Set at construction.
	cfg   Config
	keys  keyring
	start time.Time
	wake  chan struct{} // holds one token when Run has to look again
	log   *slog.Logger
	count counters

	mu      sync.Mutex
	table   map[int64]*Session      // open and closing
	closing int                     // how many of them are closing
	bound   int                     // and how many a connection carries
	counter uint32                  // of the last id made
	queue   queue                   // open sessions but those in inquiry
	waiting map[int64]chan struct{} // closed when that closing session has ended
	inquiry inquiry
	onEnd   []func(*Session)
}

// New returns a Manager without sessions. Its Run must run for sessions to
// expire.
func New(cfg Config) (*Manager, error) {
	if err := checkIdentity(cfg.Bridge, cfg.Incarnation); err != nil {
		return nil, err
	}
	keys, err := newKeyring(cfg.KeyID, cfg.Key)
	if err != nil {
		return nil, err
	}
	if cfg.MinTimeout == 0 {
		cfg.MinTimeout = DefaultMinTimeout
	}
	if cfg.MaxTimeout == 0 {
		cfg.MaxTimeout = max(DefaultMaxTimeout, cfg.MinTimeout)
	}
	if cfg.MinTimeout < time.Millisecond || cfg.MaxTimeout < cfg.MinTimeout {
		return nil, fmt.Errorf("session timeouts from %v to %v: the lower bound must be at least 1ms and not above the upper one", cfg.MinTimeout, cfg.MaxTimeout)
	}
	if cfg.Expire == nil {
		return nil, errors.New("sessions without Expire would leave their nodes behind")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Manager{
		cfg:     cfg,
		keys:    keys,
		start:   time.Now(),
		wake:    make(chan struct{}, 1),
		log:     cfg.Log,
		table:   make(map[int64]*Session),
		waiting: make(map[int64]chan struct{}),
	}, nil
}

// Negotiate returns the timeout granted to a client that asks for asked
// milliseconds: the nearest one within the bounds. ZooKeeper does the same.
func (m *Manager) Negotiate(asked int32) time.Duration {
	return min(max(time.Duration(asked)*time.Millisecond, m.cfg.MinTimeout), m.cfg.MaxTimeout)
}

// Create makes a session that c carries. timeout comes from Negotiate.
func (m *Manager) Create(timeout time.Duration, c Conn) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counter == 1<<32-1 {
		return nil, errNoIDs
	}
	m.counter++
	now := m.now()
	s := &Session{
		m:           m,
		id:          sessionID(m.cfg.Bridge, m.cfg.Incarnation, m.counter),
		born:        now,
		epoch:       1,
		incarnation: m.cfg.Incarnation,
		bridge:      m.cfg.Bridge,
		slot:        noSlot,
	}
	s.timeout.Store(int64(timeout))
	s.seen.Store(now)
	s.bindLocked(c)
	m.table[s.id] = s
	m.enqueueLocked(s, s.deadline())
	m.count.created.Add(1)
	return s, nil
}

// Attach makes c carry the session id again, with a fresh timeout from
// Negotiate. Whoever carries it now is kicked first, even if the password then
// turns out wrong, as ZooKeeper does. If the session is closing, Attach waits
// until it has ended. The error is ErrExpired (the client gets zeros), or
// something else if the truth is not known because ctx ended (the client's
// connection is closed without a word).
func (m *Manager) Attach(ctx context.Context, id int64, passwd []byte, timeout time.Duration, c Conn) (*Session, error) {
	for {
		s, old, ended, robbed := m.tryAttach(id, passwd, timeout, c)
		switch {
		case robbed:
			m.Expire(s)
		case old != nil:
			m.count.kicked.Add(1)
			old.Kick("session moved to another connection")
		case ended != nil:
			select {
			case <-ended:
			case <-ctx.Done():
				return nil, fmt.Errorf("waiting for the end of session 0x%x: %w", uint64(id), context.Cause(ctx))
			}
		case s != nil:
			m.count.resumed.Add(1)
			return s, nil
		default:
			m.count.refused.Add(1)
			return nil, ErrExpired
		}
	}
}

// tryAttach is one attempt to attach. It returns the session, or a connection
// to kick before the next attempt, or a channel to wait for, or nothing:
// expired. A session that was robbed is not attached, it has to be ended first.
func (m *Manager) tryAttach(id int64, passwd []byte, timeout time.Duration, c Conn) (s *Session, old Conn, ended <-chan struct{}, robbed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s = m.table[id]
	if s == nil {
		return nil, nil, nil, false
	}
	if old = s.conn; old != nil {
		s.bindLocked(nil)
		return nil, old, nil, false
	}
	if subtle.ConstantTimeCompare(passwd, s.Passwd()) != 1 {
		return nil, nil, nil, false
	}
	if !s.open() {
		w := m.waiting[id]
		if w == nil {
			w = make(chan struct{})
			m.waiting[id] = w
		}
		return nil, nil, w, false
	}
	if s.robbed {
		return s, nil, nil, true
	}
	s.timeout.Store(int64(timeout))
	s.seen.Store(m.now())
	s.bindLocked(c)
	// A longer deadline is found when the old one comes round; a shorter one is
	// not.
	if s.slot != noSlot && s.deadline() < m.queue.items[s.slot].at {
		m.enqueueLocked(s, s.deadline())
	}
	return s, nil, nil, false
}

// Detach says that c carries s no longer. The session lives on until its
// timeout. It does nothing if another connection has taken over.
func (m *Manager) Detach(s *Session, c Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.conn == c {
		s.bindLocked(nil)
	}
}

// BeginEnd moves s from open to closing and reports whether it did: of several
// callers exactly one is told so, and that one removes the session's nodes and
// calls Finish.
func (m *Manager) BeginEnd(s *Session) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.open() {
		return false
	}
	m.closeLocked(s)
	m.count.closed.Add(1)
	return true
}

// Finish ends a closing session: clients that wait for it are told that it
// expired, and its connection is kicked. A server that still owes its client
// the reply to closeSession detaches the connection first.
func (m *Manager) Finish(s *Session) {
	m.mu.Lock()
	if s.state.Load()&stateMask != stateClosing {
		m.mu.Unlock()
		return
	}
	s.setStateLocked(stateEnded)
	delete(m.table, s.id)
	m.closing--
	c := s.conn
	s.bindLocked(nil)
	if w := m.waiting[s.id]; w != nil {
		delete(m.waiting, s.id)
		close(w)
	}
	hear := m.onEnd
	m.mu.Unlock()
	for _, fn := range hear {
		fn(s)
	}
	if c != nil {
		c.Kick("session ended")
	}
}

// Lookup returns the session with this id if it is open or closing, else nil.
func (m *Manager) Lookup(id int64) *Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.table[id]
}

// All returns the open and closing sessions, in no order.
func (m *Manager) All() []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*Session, 0, len(m.table))
	for _, s := range m.table {
		all = append(all, s)
	}
	return all
}

// closeLocked marks an open session as closing: it falls due no more.
func (m *Manager) closeLocked(s *Session) {
	s.setStateLocked(stateClosing)
	m.closing++
	m.queue.remove(s)
}

// enqueueLocked has s looked at when at comes, and wakes Run if that is sooner
// than what it waits for.
func (m *Manager) enqueueLocked(s *Session, at int64) {
	m.queue.set(s, at)
	if first, _ := m.queue.first(); first == s {
		m.nudge()
	}
}

// nudge makes Run look again.
func (m *Manager) nudge() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// now is the time since the manager's start, in ns. It is monotonic: it stands
// still while the machine sleeps, so that waking up expires nobody.
func (m *Manager) now() int64 { return int64(time.Since(m.start)) }
