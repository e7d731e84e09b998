package sessions_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/sessions"
)

// TestRob: who lost a node to somebody else while nobody carried the session is
// told that it has expired, and everything else of it goes then, or in its time.
func TestRob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var expired []int64
		m := newManager(t, func(c *sessions.Config) {
			c.Expire = func(s *sessions.Session) { expired = append(expired, s.ID()) }
		})
		run(t, m)
		a, carrier := create(t, m, 10*time.Second)
		b, other := create(t, m, 10*time.Second)
		require.False(t, m.Rob(a.ID()), "a connection carries it")
		require.False(t, m.Rob(99), "nobody knows it")
		m.Detach(a, carrier)
		m.Detach(b, other)
		require.True(t, m.Rob(a.ID()))
		require.True(t, m.Rob(a.ID()))
		require.True(t, m.Rob(b.ID()))
		require.EqualValues(t, 2, m.Stats().Robbed)
		require.Empty(t, expired, "it stays for what else it owns")

		_, err := m.Attach(t.Context(), a.ID(), make([]byte, sessions.PasswdSize), 10*time.Second, &conn{})
		require.ErrorIs(t, err, sessions.ErrExpired)
		require.Empty(t, expired, "a wrong password ends nothing")
		_, err = m.Attach(t.Context(), a.ID(), a.Passwd(), 10*time.Second, &conn{})
		require.ErrorIs(t, err, sessions.ErrExpired)
		require.Equal(t, []int64{a.ID()}, expired)
		require.False(t, m.Rob(a.ID()))

		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, []int64{a.ID(), b.ID()}, expired, "in its time")

		next := newManager(t) // the log says that it was robbed
		kept, err := next.Restore(sessions.Kept{ID: 1<<56 | 1, Timeout: 5 * time.Second, Robbed: true})
		require.NoError(t, err)
		_, err = next.Attach(t.Context(), kept.ID(), kept.Passwd(), 10*time.Second, &conn{})
		require.ErrorIs(t, err, sessions.ErrExpired)
	})
}
