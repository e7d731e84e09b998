package sessions

import (
	"fmt"
	"time"
)

// Kept is a session as a log has kept it over a restart.
type Kept struct {
	ID      int64
	Timeout time.Duration // negotiated last; within the bounds of now when it is restored
	Epoch   uint32        // of its tenure
	Zxid    int64         // of the transaction that opened it
	Robbed  bool          // see Manager.Rob
}

// Restore brings back a session of an earlier life of this bridge: no connection
// carries it, and its timeout begins anew, as after a restart of ZooKeeper
// (SessionTrackerImpl). It is called before clients are served. An id that is
// known already, or that was never given out, is an error.
func (m *Manager) Restore(k Kept) (*Session, error) {
	bridge, incarnation := bornAt(k.ID)
	if k.ID == 0 || k.ID == ReservedID(bridge) || bridge == m.cfg.Bridge && incarnation >= m.cfg.Incarnation {
		return nil, fmt.Errorf("session 0x%x was not made by an earlier incarnation than %d", uint64(k.ID), m.cfg.Incarnation)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.table[k.ID] != nil {
		return nil, fmt.Errorf("session 0x%x is restored twice", uint64(k.ID))
	}
	now := m.now()
	s := &Session{m: m, id: k.ID, born: now, epoch: max(k.Epoch, 1), incarnation: incarnation, bridge: bridge, robbed: k.Robbed, slot: noSlot}
	s.timeout.Store(int64(min(max(k.Timeout, m.cfg.MinTimeout), m.cfg.MaxTimeout)))
	s.seen.Store(now)
	s.zxid.Store(k.Zxid)
	m.table[s.id] = s
	m.enqueueLocked(s, s.deadline())
	m.count.restored.Add(1)
	return s, nil
}
