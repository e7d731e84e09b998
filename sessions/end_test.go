package sessions_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/sessions"
)

// Every session that ends is told of once, after it has left the table and
// however it ends.
func TestOnEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(m *sessions.Manager, s *sessions.Session)
	}{
		{"closed by its client", func(m *sessions.Manager, s *sessions.Session) {
			require.True(t, m.BeginEnd(s))
			m.Finish(s)
			m.Finish(s)
		}},
		{"expired at once", func(m *sessions.Manager, s *sessions.Session) { require.True(t, m.Expire(s)) }},
		{"silent", func(*sessions.Manager, *sessions.Session) { time.Sleep(time.Minute) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newManager(t)
				var mu sync.Mutex
				var heard []*sessions.Session
				for range 2 {
					m.OnEnd(func(s *sessions.Session) {
						mu.Lock()
						defer mu.Unlock()
						require.True(t, s.Ended())
						require.Nil(t, m.Lookup(s.ID()), "no lock is held, and the table is left")
						heard = append(heard, s)
					})
				}
				run(t, m)
				s, _ := create(t, m, 10*time.Second)
				tt.end(m, s)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				require.Equal(t, []*sessions.Session{s, s}, heard)
			})
		})
	}
}

// Expire is an expiry: it counts as one, removes the nodes while the session is
// closing, holds back who asks for it, and kicks who carries it.
func TestExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		removing, removed := make(chan struct{}), make(chan struct{})
		var m *sessions.Manager
		m = newManager(t, func(cfg *sessions.Config) {
			cfg.Expire = func(s *sessions.Session) {
				require.True(t, s.Closing())
				require.False(t, s.Ended())
				require.False(t, m.Expire(s), "somebody else is at it")
				require.False(t, m.BeginEnd(s))
				close(removing)
				<-removed
			}
		})
		s, c := create(t, m, 10*time.Second)
		done := make(chan bool, 1)
		go func() { done <- m.Expire(s) }()
		<-removing
		attached := make(chan error, 1)
		go func() {
			_, err := m.Attach(context.Background(), s.ID(), s.Passwd(), 10*time.Second, new(conn))
			attached <- err
		}()
		synctest.Wait()
		require.Empty(t, attached)
		require.Empty(t, done)
		close(removed)
		require.True(t, <-done)
		require.ErrorIs(t, <-attached, sessions.ErrExpired)
		require.True(t, s.Ended())
		require.True(t, c.kicked())
		require.False(t, m.Expire(s))
		st := m.Stats()
		require.EqualValues(t, 1, st.Expired)
		require.Zero(t, st.Closed)
		require.Zero(t, st.Open+st.Closing)
	})
}
