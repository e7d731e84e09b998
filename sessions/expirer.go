package sessions

import (
	"context"
	"sync"
	"time"
)

// idle is how long Run sleeps when no session can fall due.
const idle = time.Hour

// inquiry is the state of the questions to the authority. Guarded by
// Manager.mu.
type inquiry struct {
	open    int        // questions that are being asked
	backlog []*Session // due sessions whose question waits for its turn
	answers []answer   // for Run to act on
	silent  bool       // the last question got no answer
}

// question is about a session as it was when it fell due.
type question struct {
	s    *Session
	seen int64 // its last sign of life then
}

type answer struct {
	question
	over bool
	err  error
}

// Run ends sessions that stay silent, until ctx ends. It returns nil then.
func (m *Manager) Run(ctx context.Context) error {
	var asking sync.WaitGroup
	defer asking.Wait()
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for ctx.Err() == nil {
		// One session at a time, so that those further back in a long line can
		// still give a sign of life.
		if s := m.nextOver(); s != nil {
			m.cfg.Expire(s)
			m.Finish(s)
			continue
		}
		ask, next := m.nextDue()
		for _, q := range ask {
			asking.Go(func() { m.ask(ctx, q) })
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
		case <-m.wake:
		case <-timer.C:
		}
	}
	return nil
}

// nextOver marks the next session that is over as closing, and returns it; nil
// if there is none at the moment.
func (m *Manager) nextOver() *Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.nextAnsweredLocked(); s != nil {
		m.count.expired.Add(1)
		m.closeLocked(s)
		return s
	}
	if m.cfg.Authority != nil {
		return nil
	}
	s := m.nextSilentLocked()
	if s != nil {
		m.count.expired.Add(1)
		m.closeLocked(s)
	}
	return s
}

// nextSilentLocked returns the first queued session that is past its deadline.
// Those that were touched since they were queued are put back in their place.
func (m *Manager) nextSilentLocked() *Session {
	now := m.now()
	for {
		s, at := m.queue.first()
		if s == nil || at > now {
			return nil
		}
		deadline := s.deadline()
		if deadline <= now {
			return s
		}
		m.queue.set(s, deadline)
	}
}

// nextAnsweredLocked works through the answers until one ends a session.
func (m *Manager) nextAnsweredLocked() *Session {
	for len(m.inquiry.answers) > 0 {
		a := m.inquiry.answers[0]
		m.inquiry.answers = m.inquiry.answers[1:]
		if !a.s.open() {
			continue // its client closed it meanwhile
		}
		switch {
		case a.s.seen.Load() != a.seen:
			m.queue.set(a.s, a.s.deadline())
		case a.err != nil:
			m.queue.set(a.s, m.now()+int64(askAgain))
		case !a.over:
			a.s.Touch()
			m.queue.set(a.s, a.s.deadline())
		default:
			return a.s
		}
		m.count.spared.Add(1)
	}
	m.inquiry.answers = nil
	return nil
}

// nextDue takes the sessions to ask about out of the queue, and says how long
// until the next one could fall due.
func (m *Manager) nextDue() (ask []question, next time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cfg.Authority != nil {
		for s := m.nextSilentLocked(); s != nil; s = m.nextSilentLocked() {
			m.queue.remove(s)
			m.inquiry.backlog = append(m.inquiry.backlog, s)
		}
		ask = m.nextQuestionsLocked()
	}
	if s, at := m.queue.first(); s != nil {
		return ask, time.Duration(max(at-m.now(), 0))
	}
	return ask, idle
}

// nextQuestionsLocked takes as many sessions from the backlog as may be asked
// about now, without those that need no question any more.
func (m *Manager) nextQuestionsLocked() (ask []question) {
	now := m.now()
	for len(m.inquiry.backlog) > 0 && m.inquiry.open < askAtATime {
		s := m.inquiry.backlog[0]
		m.inquiry.backlog = m.inquiry.backlog[1:]
		seen := s.seen.Load()
		switch deadline := seen + s.timeout.Load(); {
		case !s.open(): // its client closed it meanwhile
		case deadline > now:
			m.queue.set(s, deadline)
			m.count.spared.Add(1)
		default:
			m.inquiry.open++
			ask = append(ask, question{s: s, seen: seen})
		}
	}
	return ask
}

// ask puts one question to the authority, and leaves the answer for Run.
func (m *Manager) ask(ctx context.Context, q question) {
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	over, err := m.cfg.Authority.Over(limited, q.s)

	m.mu.Lock()
	m.inquiry.open--
	m.inquiry.answers = append(m.inquiry.answers, answer{question: q, over: over, err: err})
	changed := m.inquiry.silent != (err != nil)
	m.inquiry.silent = err != nil
	m.nudge()
	m.mu.Unlock()

	if err != nil {
		m.count.unanswered.Add(1)
	}
	switch {
	case !changed || ctx.Err() != nil:
	case err != nil:
		m.log.Warn("nobody can say whether a silent session is over; it stays open", "session", q.s, "error", err)
	default:
		m.log.Info("silent sessions can be judged again")
	}
}
