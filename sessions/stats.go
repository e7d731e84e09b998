package sessions

import "sync/atomic"

// Stats is a snapshot of what the manager holds and has done since its start.
type Stats struct {
	Open      int // sessions that can be resumed
	Closing   int // sessions whose nodes are being removed
	Connected int // sessions that a connection carries
	Waiting   int // closing sessions that at least one client waits for
	Asking    int // silent sessions about which the authority is being asked

	Created    uint64 // sessions made
	Restored   uint64 // sessions of an earlier life brought back
	Resumed    uint64 // attaches that succeeded
	Refused    uint64 // attaches answered expired
	Kicked     uint64 // connections closed because another took over
	Closed     uint64 // sessions ended by BeginEnd, so by their clients
	Expired    uint64 // sessions ended for their silence
	Spared     uint64 // sessions that were due and then not ended, whatever the reason
	Robbed     uint64 // sessions that lost a node to somebody else (Manager.Rob)
	Unanswered uint64 // questions to which the authority had no answer
}

// counters are the running totals in Stats.
type counters struct {
	created, restored, resumed, refused, kicked, closed, expired, spared, robbed, unanswered atomic.Uint64
}

// Stats returns a snapshot. Its cost does not depend on the number of sessions.
func (m *Manager) Stats() Stats {
	st := Stats{
		Created:    m.count.created.Load(),
		Restored:   m.count.restored.Load(),
		Resumed:    m.count.resumed.Load(),
		Refused:    m.count.refused.Load(),
		Kicked:     m.count.kicked.Load(),
		Closed:     m.count.closed.Load(),
		Expired:    m.count.expired.Load(),
		Spared:     m.count.spared.Load(),
		Robbed:     m.count.robbed.Load(),
		Unanswered: m.count.unanswered.Load(),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	st.Open = len(m.table) - m.closing
	st.Closing = m.closing
	st.Connected = m.bound
	st.Waiting = len(m.waiting)
	st.Asking = m.inquiry.open + len(m.inquiry.backlog)
	return st
}
