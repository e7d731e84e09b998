package sessions

// OnEnd has fn called for every session that ends, for whatever reason, once it
// has left the table: who keeps something on behalf of sessions lets go of it.
// fn must not wait. It is called without locks, and on the goroutine that ends
// the session. It hears of the sessions that end after OnEnd has returned.
func (m *Manager) OnEnd(fn func(*Session)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onEnd = append(m.onEnd[:len(m.onEnd):len(m.onEnd)], fn)
}

// Expire ends s now as Run does when its timeout has passed: it is closing, then
// Config.Expire removes its nodes, then it has ended. It returns when that is
// done. It reports false, and does nothing, if somebody else is ending s already.
// The authority is not asked. A connection that carries s is kicked.
func (m *Manager) Expire(s *Session) bool {
	m.mu.Lock()
	if !s.open() {
		m.mu.Unlock()
		return false
	}
	m.count.expired.Add(1)
	m.closeLocked(s)
	m.mu.Unlock()
	defer m.Finish(s) // even if Expire panics: clients wait for it
	m.cfg.Expire(s)
	return true
}
