package bridge_test

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// link is a client's way to a bridge that can be cut.
type link struct {
	down    atomic.Bool
	carries atomic.Pointer[net.Conn]
}

func (l *link) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	if l.down.Load() {
		return nil, errors.New("the link is cut")
	}
	c, err := net.DialTimeout(network, address, timeout)
	if err == nil {
		l.carries.Store(&c)
	}
	return c, err
}

func (l *link) cut() {
	l.down.Store(true)
	if c := l.carries.Load(); c != nil {
		_ = (*c).Close()
	}
}

// TestRestartedProviderTakesItsNodeOver: a provider that was killed registers
// again before its old session has expired. Real ZooKeeper answers NodeExists and
// removes the node a moment later; here the node changes hands and stays, no list
// changes, and the old client, should it come back, is told that it has expired.
func TestRestartedProviderTakesItsNodeOver(t *testing.T) {
	for _, on := range []bool{true, false} {
		c := defaults(t)
		c.Server.AdoptAbandoned = on
		r := start(t, c)
		ready(t, r)
		api := registryOf(t, r)
		var l link
		old, events, err := zk.Connect([]string{r.ClientAddr()}, 4*time.Second, zk.WithDialer(l.dial), zk.WithLogger(quiet{}), zk.WithLogInfo(false))
		require.NoError(t, err)
		makeDirs(t, old, providers)
		path := providers + "/" + providerName("10.0.0.1:20880")
		acl := zk.WorldACL(zk.PermAll)
		for _, p := range []string{path, "/lock"} {
			_, err = old.Create(p, []byte("10.0.0.1"), zk.FlagEphemeral, acl)
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool { return len(instances(t, api)) == 1 }, 5*time.Second, 5*time.Millisecond)

		again := connect(t, r)
		_, err = again.Create(path, []byte("10.0.0.1"), zk.FlagEphemeral, acl)
		require.ErrorIs(t, err, zk.ErrNodeExists, "its session has a connection")
		l.cut()
		_, _, changed, err := again.ChildrenW(providers)
		require.NoError(t, err)
		if !on {
			_, err = again.Create(path, []byte("10.0.0.1"), zk.FlagEphemeral, acl)
			require.ErrorIs(t, err, zk.ErrNodeExists)
			l.down.Store(false)
			old.Close()
			continue
		}
		require.Eventually(t, func() bool {
			_, err = again.Create(path, []byte("10.0.0.1"), zk.FlagEphemeral, acl)
			return err == nil
		}, 2*time.Second, 5*time.Millisecond, "the server has seen the cut")
		_, st, err := again.Get(path)
		require.NoError(t, err)
		require.Equal(t, again.SessionID(), st.EphemeralOwner)
		_, err = again.Create("/lock", nil, zk.FlagEphemeral, acl)
		require.ErrorIs(t, err, zk.ErrNodeExists, "elsewhere it is as on ZooKeeper")
		_, text := get(t, r.AdminURL()+"/metrics")
		require.Contains(t, text, "zkbridge_nodes_taken_over_total 1\n")
		require.Contains(t, text, "zkbridge_sessions_robbed_total 1\n")

		l.down.Store(false)
		require.Eventually(t, func() bool {
			select {
			case e := <-events:
				return e.State == zk.StateExpired
			default:
				return false
			}
		}, 5*time.Second, 5*time.Millisecond, "it would not know that its provider is somebody else's")
		for {
			if ok, _, err := again.Exists("/lock"); err == nil && !ok {
				break // the rest of it has gone with it
			}
			time.Sleep(5 * time.Millisecond)
		}
		ok, _, err := again.Exists(path)
		require.NoError(t, err)
		require.True(t, ok)
		select {
		case e := <-changed:
			t.Fatalf("got %v, want that nobody hears of it", e)
		default:
		}
		require.Equal(t, []string{"10.0.0.1:20880"}, instances(t, api))
		old.Close()
	}
}
