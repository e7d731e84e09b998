package sessions

// Rob reports whether the session id is known and no connection carries it. If so
// its client, should it come back, is told that it has expired, and the session
// ends then: somebody has taken a node of it over, and a client that resumed would
// not know. Until then the session lives on for what else it owns, and expires in
// its time. It may be called under the tree's lock.
func (m *Manager) Rob(id int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.table[id]
	if s == nil || s.conn != nil {
		return false
	}
	if !s.robbed {
		s.robbed = true
		m.count.robbed.Add(1)
	}
	return true
}
