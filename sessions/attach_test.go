package sessions_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/sessions"
)

func TestAttachResumes(t *testing.T) {
	m := newManager(t)
	s, first := create(t, m, 10*time.Second)
	m.Detach(s, first)
	require.False(t, s.Connected())

	again := new(conn)
	got, err := m.Attach(t.Context(), s.ID(), s.Passwd(), 30*time.Second, again)
	require.NoError(t, err)
	require.Same(t, s, got)
	require.True(t, s.Connected())
	require.Equal(t, 30*time.Second, s.Timeout(), "the timeout is that of the newest connection")
	require.False(t, first.kicked(), "the first connection had left by itself")
	require.Equal(t, sessions.Stats{Open: 1, Connected: 1, Created: 1, Resumed: 1}, m.Stats())
}

// TestAttachRefused names field reports 5 and 55: what cannot be resumed is
// expired, and a wrong password does no harm to the session.
func TestAttachRefused(t *testing.T) {
	m := newManager(t)
	s, c := create(t, m, 10*time.Second)
	m.Detach(s, c)
	wrong := s.Passwd()
	wrong[15]++
	for _, tc := range []struct {
		name   string
		id     int64
		passwd []byte
	}{
		{"wrong password", s.ID(), wrong},
		{"no password", s.ID(), nil},
		{"short password", s.ID(), s.Passwd()[:15]},
		{"long password", s.ID(), append(s.Passwd(), 0)},
		{"unknown id", s.ID() + 1, s.Passwd()},
		{"id -1", -1, s.Passwd()},
		{"id 0", 0, s.Passwd()},
		{"reserved id", sessions.ReservedID(1), s.Passwd()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := m.Attach(t.Context(), tc.id, tc.passwd, time.Second, new(conn))
			require.ErrorIs(t, err, sessions.ErrExpired)
		})
	}
	require.Equal(t, 10*time.Second, s.Timeout())
	_, err := m.Attach(t.Context(), s.ID(), s.Passwd(), 10*time.Second, new(conn))
	require.NoError(t, err)
}

// TestTakeoverKicksFirst: ZooKeeper closes the old connection before it looks at
// the password.
func TestTakeoverKicksFirst(t *testing.T) {
	t.Run("right password", func(t *testing.T) {
		m := newManager(t)
		s, old := create(t, m, 10*time.Second)
		var boundAtKick bool
		old.hook = func() { boundAtKick = s.Connected() }
		_, err := m.Attach(t.Context(), s.ID(), s.Passwd(), 10*time.Second, new(conn))
		require.NoError(t, err)
		require.True(t, old.kicked())
		require.False(t, boundAtKick, "the new connection was bound before the old one was kicked")
	})
	t.Run("wrong password", func(t *testing.T) {
		m := newManager(t)
		s, old := create(t, m, 10*time.Second)
		_, err := m.Attach(t.Context(), s.ID(), make([]byte, 16), 10*time.Second, new(conn))
		require.ErrorIs(t, err, sessions.ErrExpired)
		require.True(t, old.kicked())
		require.False(t, s.Closing())
		require.False(t, s.Connected())
	})
	t.Run("the old connection's farewell is late", func(t *testing.T) {
		m := newManager(t)
		s, old := create(t, m, 10*time.Second)
		now := new(conn)
		_, err := m.Attach(t.Context(), s.ID(), s.Passwd(), 10*time.Second, now)
		require.NoError(t, err)
		m.Detach(s, old)
		require.True(t, s.Connected())
		m.Detach(s, now)
		require.False(t, s.Connected())
	})
}

// TestAttachWhileClosing: a client that comes back while its nodes are being
// removed is told only when they are gone, else its new session would find
// them there.
func TestAttachWhileClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t)
		s, c := create(t, m, 10*time.Second)
		other, _ := create(t, m, 10*time.Second)
		require.True(t, m.BeginEnd(s))

		const clients = 3
		answers := make(chan error, clients)
		for range clients {
			go func() {
				_, err := m.Attach(t.Context(), s.ID(), s.Passwd(), time.Second, new(conn))
				answers <- err
			}()
		}
		synctest.Wait()
		require.True(t, c.kicked())
		require.Empty(t, answers)
		require.Equal(t, 1, m.Stats().Waiting)

		_, err := m.Attach(t.Context(), s.ID(), make([]byte, 16), time.Second, new(conn))
		require.ErrorIs(t, err, sessions.ErrExpired, "a wrong password has nothing to wait for")
		_, err = m.Attach(t.Context(), other.ID(), other.Passwd(), time.Second, new(conn))
		require.NoError(t, err, "others do not wait")

		m.Finish(s)
		for range clients {
			require.ErrorIs(t, <-answers, sessions.ErrExpired)
		}
		require.True(t, s.Ended())
		require.Nil(t, m.Lookup(s.ID()))
	})
}

func TestAttachGivesUpWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t)
		s, _ := create(t, m, 10*time.Second)
		require.True(t, m.BeginEnd(s))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := m.Attach(ctx, s.ID(), s.Passwd(), time.Second, new(conn))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, sessions.ErrExpired)
		m.Finish(s)
	})
}

func TestEnd(t *testing.T) {
	m := newManager(t)
	s, c := create(t, m, 10*time.Second)
	m.Finish(s)
	require.False(t, s.Ended(), "a session that nobody closed cannot be finished")

	require.True(t, m.BeginEnd(s))
	require.False(t, m.BeginEnd(s))
	require.True(t, s.Closing())
	require.False(t, s.Ended())
	require.False(t, c.kicked(), "the connection still gets the events of its own end")
	require.Equal(t, sessions.Stats{Closing: 1, Connected: 1, Created: 1, Closed: 1}, m.Stats())

	m.Finish(s)
	m.Finish(s)
	require.True(t, s.Closing())
	require.True(t, s.Ended())
	require.Equal(t, int32(1), c.kicks.Load())
	require.False(t, m.BeginEnd(s))
	require.Equal(t, sessions.Stats{Created: 1, Closed: 1}, m.Stats())
	_, err := m.Attach(t.Context(), s.ID(), s.Passwd(), time.Second, new(conn))
	require.ErrorIs(t, err, sessions.ErrExpired)
}

func TestEndAfterDetach(t *testing.T) {
	m := newManager(t)
	s, c := create(t, m, 10*time.Second)
	require.True(t, m.BeginEnd(s))
	m.Detach(s, c)
	m.Finish(s)
	require.False(t, c.kicked(), "the reply to closeSession must be able to leave")
}

func TestOneCallerBeginsTheEnd(t *testing.T) {
	m := newManager(t)
	for range 50 {
		s, _ := create(t, m, 10*time.Second)
		var wins sync.Map
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if m.BeginEnd(s) {
					wins.Store(i, true)
				}
			})
		}
		wg.Wait()
		n := 0
		wins.Range(func(any, any) bool { n++; return true })
		require.Equal(t, 1, n)
		m.Finish(s)
	}
}

// TestReconnectStorm lets many connections fight over few sessions, with real
// threads for the race detector: whoever was told that it has the session and
// was not kicked since is the only one.
func TestReconnectStorm(t *testing.T) {
	m := newManager(t)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- m.Run(ctx) }()

	const sessionsN, clients, rounds = 4, 8, 200
	held := make([][]*conn, sessionsN)
	var mu sync.Mutex
	all := make([]*sessions.Session, sessionsN)
	for i := range all {
		s, c := create(t, m, 40*time.Second)
		all[i], held[i] = s, []*conn{c}
	}
	var wg sync.WaitGroup
	for k := range clients {
		wg.Go(func() {
			for r := range rounds {
				i := (k*7 + r) % sessionsN
				s := all[i]
				c := new(conn)
				_, err := m.Attach(ctx, s.ID(), s.Passwd(), 40*time.Second, c)
				s.Touch()
				switch {
				case err == nil:
					mu.Lock()
					held[i] = append(held[i], c)
					mu.Unlock()
					if r%5 == 0 {
						m.Detach(s, c)
						c.Kick("left")
					}
				case !errors.Is(err, sessions.ErrExpired):
					t.Errorf("attach: got %v", err)
				}
				if k == 0 && r == rounds-1 && m.BeginEnd(all[0]) {
					m.Finish(all[0])
				}
			}
		})
	}
	wg.Wait()
	for i, s := range all {
		live := 0
		for _, c := range held[i] {
			if !c.kicked() {
				live++
			}
		}
		want := 0
		if s.Connected() {
			want = 1
		}
		require.Equal(t, want, live, "connections that think they carry session %d", i)
	}
	require.True(t, all[0].Ended())
	cancel()
	require.NoError(t, <-ran)
}
