package sessions_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/sessions"
)

// testKey is the password key of the tests.
var testKey = []byte("0123456789abcdef0123456789abcdef")

// conn is a connection that remembers whether it was kicked.
type conn struct {
	kicks atomic.Int32
	hook  func() // runs when it is kicked, may be nil
}

func (c *conn) Kick(string) {
	c.kicks.Add(1)
	if c.hook != nil {
		c.hook()
	}
}

func (c *conn) kicked() bool { return c.kicks.Load() > 0 }

// newManager returns a manager of bridge 1 with ZooKeeper's default bounds. The
// configuration can be changed before it is made.
func newManager(t testing.TB, change ...func(*sessions.Config)) *sessions.Manager {
	t.Helper()
	cfg := sessions.Config{Bridge: 1, Incarnation: 7, KeyID: 3, Key: testKey, Expire: func(*sessions.Session) {}}
	for _, f := range change {
		f(&cfg)
	}
	m, err := sessions.New(cfg)
	require.NoError(t, err)
	return m
}

// run starts m's Run and stops it at the end of the test.
func run(t *testing.T, m *sessions.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

// create makes a session and its connection.
func create(t testing.TB, m *sessions.Manager, timeout time.Duration) (*sessions.Session, *conn) {
	t.Helper()
	c := new(conn)
	s, err := m.Create(timeout, c)
	require.NoError(t, err)
	return s, c
}

// at waits until d after start in the bubble, and until everybody else has done
// what that moment asked for.
func at(start time.Time, d time.Duration) {
	time.Sleep(time.Until(start.Add(d)))
	synctest.Wait()
}
